#include "native.h"

namespace tw::py {

const TensorApi& tensor_api() {
  static const TensorApi* api = [] {
    auto module = pybind11::module_::import("thalweg._core._tensor");
    return module.attr("_api").cast<pybind11::capsule>().get_pointer<const TensorApi>();
  }();
  return *api;
}

}  // namespace tw::py

PYBIND11_MODULE(_native, m) {
  m.doc() = "What the core offers beyond tensors and ops.";
  tw::py::tensor_api();
  pybind11::register_exception_translator([](std::exception_ptr failure) {
    try {
      if (failure) std::rethrow_exception(failure);
    } catch (const tw::Error&) {
      tw::py::translate_exception(tw::py::tensor_api());
    } catch (const tw::py::PythonError&) {
    }
  });
  tw::py::bind_registry(m);
  tw::py::bind_autograd(m);
  tw::py::bind_function(m);
  tw::py::bind_memory(m);
  tw::py::bind_dlpack(m);
  tw::py::bind_random(m);
  tw::py::bind_device(m);
  tw::py::bind_cuda(m);
  tw::py::bind_plan(m);
  tw::py::bind_jit(m);
  tw::py::bind_structure(m);
  tw::py::bind_call(m);
  tw::py::bind_control(m);
  tw::py::bind_archive(m);
  tw::py::bind_global(m);
  tw::py::bind_graph(m);
  tw::py::bind_parts(m);
  tw::py::bind_planner(m);
  tw::py::bind_profile(m);
  tw::py::bind_reader(m);
  tw::py::bind_comm(m);
}
