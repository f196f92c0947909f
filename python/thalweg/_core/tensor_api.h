// The one TensorApi of this process, filled by _tensor when it is imported.
#pragma once

#include "py_support.h"

namespace tw::py {

extern TensorApi g_api;
inline TensorApi& api() { return g_api; }
PyObject* api_capsule();  // new reference

inline bool is_tensor(PyObject* object) { return is_tensor(api(), object); }
inline eager::Tensor& handle_of(PyObject* object) { return handle_of(api(), object); }
inline void translate_exception() { translate_exception(api()); }

}  // namespace tw::py
