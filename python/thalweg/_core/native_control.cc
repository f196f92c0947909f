// Control flow of traced functions: what thalweg.jit.control drives.
#include <pybind11/stl.h>

#include "eager/control.h"
#include "native.h"

namespace tw::py {

namespace pb = pybind11;
using eager::RegionRecorder;
using eager::Tensor;

void bind_control(pb::module_& m) {
  pb::class_<RegionRecorder>(m, "Region", "A branch or a loop body that is being recorded.")
      .def(pb::init([](eager::Tracer& tracer, const std::string& name) {
             return new RegionRecorder(tracer, name);
           }),
           pb::keep_alive<1, 2>())
      // A tensor like `like`, or like a part of it along its first dim.
      .def("add_input",
           [](RegionRecorder& region, const Tensor& like, bool part, bool on_tape) {
             return region.add_input(like->dtype, Dims(like->sizes.begin() + part, like->sizes.end()),
                                     on_tape, like->global ? layout_of(*like)->placement : nullptr);
           })
      .def("carry_history", &RegionRecorder::carry_history)
      .def("changed_grads", &RegionRecorder::changed_grads)
      .def("insert_result", &RegionRecorder::insert_result)
      .def("drop", &RegionRecorder::drop)
      .def("finish", &RegionRecorder::finish);
  m.def("finish_cond", eager::finish_cond);
  m.def(
      "finish_loop",
      [](eager::Tracer& tracer, Tensor pred, std::vector<Tensor> carried, std::vector<Tensor> slices,
         int64_t length, bool reverse, RegionRecorder& body, bool parts) {
        return eager::finish_loop(
            tracer, {std::move(pred), std::move(carried), std::move(slices), length, reverse, parts}, body);
      },
      pb::arg(), pb::arg(), pb::arg(), pb::arg(), pb::arg(), pb::arg(), pb::arg(), pb::arg("parts") = false);
}

}  // namespace tw::py
