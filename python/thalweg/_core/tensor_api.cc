#include "tensor_api.h"

namespace tw::py {

TensorApi& api() {
  static TensorApi instance;
  return instance;
}

PyObject* api_capsule() { return PyCapsule_New(&api(), "thalweg._core._tensor._api", nullptr); }

}  // namespace tw::py
