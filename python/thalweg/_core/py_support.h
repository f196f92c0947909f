// What both binding modules share: how a Tensor crosses into Python and how errors do.
//
// A Python Tensor holds one tw::eager::Tensor at a fixed offset. _tensor owns the type and publishes type and
// offset; _native reads them from the capsule thalweg._core._tensor._api.
#pragma once

#include <Python.h>

#include "base/error.h"
#include "eager/tensor.h"

namespace tw::py {

struct TensorApi {
  PyTypeObject* type = nullptr;
  Py_ssize_t handle_offset = 0;
  PyObject* (*wrap)(eager::Tensor) = nullptr;         // new reference; null with a Python error set
  PyObject* (*wrap_dtype)(DType) = nullptr;           // new reference
  bool (*unwrap_dtype)(PyObject*, DType*) = nullptr;  // false when the object is no dtype
  PyObject* exceptions = nullptr;                     // dict: ErrorKind as int → exception class
};

inline bool is_tensor(const TensorApi& api, PyObject* object) {
  return Py_TYPE(object) == api.type || PyType_IsSubtype(Py_TYPE(object), api.type);
}

inline eager::Tensor& handle_of(const TensorApi& api, PyObject* object) {
  return *reinterpret_cast<eager::Tensor*>(reinterpret_cast<char*>(object) + api.handle_offset);
}

// Thrown where a Python error is already set.
struct PythonError {};

// Sets the Python error for the C++ exception in flight; call inside a catch block.
inline void translate_exception(const TensorApi& api) {
  try {
    throw;
  } catch (const PythonError&) {
  } catch (const Error& error) {
    PyObject* kind = PyLong_FromLong(static_cast<long>(error.kind()));
    PyObject* type = api.exceptions ? PyDict_GetItem(api.exceptions, kind) : nullptr;
    Py_DECREF(kind);
    PyErr_SetString(type ? type : PyExc_RuntimeError, error.what());
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
}

}  // namespace tw::py
