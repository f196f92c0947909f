#include "tensor_api.h"

namespace tw::py {

TensorApi g_api;

PyObject* api_capsule() { return PyCapsule_New(&api(), "thalweg._core._tensor._api", nullptr); }

}  // namespace tw::py
