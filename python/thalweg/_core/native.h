// The parts of the pybind11 module, one function a file, and the caster by which a Tensor crosses.
#pragma once

#include <pybind11/pybind11.h>

#include "py_support.h"

namespace tw::py {

// The TensorApi that _tensor published.
const TensorApi& tensor_api();

// A Python bool, int or float.
Scalar number_of(pybind11::handle object);

void bind_registry(pybind11::module_& m);
void bind_autograd(pybind11::module_& m);
void bind_function(pybind11::module_& m);
void bind_memory(pybind11::module_& m);
void bind_dlpack(pybind11::module_& m);
void bind_random(pybind11::module_& m);
void bind_cuda(pybind11::module_& m);
void bind_device(pybind11::module_& m);
void bind_jit(pybind11::module_& m);
void bind_structure(pybind11::module_& m);
void bind_call(pybind11::module_& m);
void bind_control(pybind11::module_& m);
void bind_archive(pybind11::module_& m);
void bind_global(pybind11::module_& m);
void bind_graph(pybind11::module_& m);
void bind_parts(pybind11::module_& m);
void bind_plan(pybind11::module_& m);
void bind_planner(pybind11::module_& m);
void bind_profile(pybind11::module_& m);
void bind_reader(pybind11::module_& m);
void bind_comm(pybind11::module_& m);

}  // namespace tw::py

namespace pybind11::detail {

template <>
struct type_caster<tw::eager::Tensor> {
  PYBIND11_TYPE_CASTER(tw::eager::Tensor, const_name("Tensor"));

  bool load(handle source, bool) {
    const auto& api = tw::py::tensor_api();
    if (source.is_none()) return value = nullptr, true;
    if (!tw::py::is_tensor(api, source.ptr())) return false;
    value = tw::py::handle_of(api, source.ptr());
    return true;
  }
  static handle cast(const tw::eager::Tensor& tensor, return_value_policy, handle) {
    if (!tensor) return none().release();
    PyObject* result = tw::py::tensor_api().wrap(tensor);
    if (!result) throw error_already_set();
    return result;
  }
};

template <>
struct type_caster<tw::DType> {
  PYBIND11_TYPE_CASTER(tw::DType, const_name("dtype"));

  bool load(handle source, bool) { return tw::py::tensor_api().unwrap_dtype(source.ptr(), &value); }
  static handle cast(tw::DType dtype, return_value_policy, handle) {
    return tw::py::tensor_api().wrap_dtype(dtype);
  }
};

}  // namespace pybind11::detail
