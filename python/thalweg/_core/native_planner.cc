// The planner's packers of memory, for benchmarks and reports.
#include <pybind11/stl.h>

#include "native.h"
#include "planner/packing/packing.h"

namespace tw::py {

namespace pb = pybind11;
using planner::Block;
using planner::Packing;

void bind_planner(pb::module_& m) {
  pb::class_<Block>(m, "Block")
      .def(pb::init([](int64_t size_bytes, int32_t first, int32_t last, int64_t alignment,
                       int64_t fixed_offset, int32_t inside, int64_t delta) {
             return Block{size_bytes, first, last, alignment, fixed_offset, inside, delta};
           }),
           pb::arg("size_bytes"), pb::arg("first"), pb::arg("last"), pb::arg("alignment") = 1,
           pb::arg("fixed_offset") = -1, pb::arg("inside") = -1, pb::arg("delta") = 0);
  pb::class_<Packing>(m, "Packing")
      .def_readonly("offsets", &Packing::offsets)
      .def_readonly("peak_bytes", &Packing::peak_bytes)
      .def_readonly("lower_bound_bytes", &Packing::lower_bound_bytes)
      .def_readonly("packer", &Packing::packer);
  pb::enum_<planner::Effort>(m, "Effort")
      .value("GREEDY", planner::Effort::kGreedy)
      .value("FAST", planner::Effort::kFast)
      .value("SEARCH", planner::Effort::kSearch);
  m.def(
      "pack",
      [](const std::vector<Block>& blocks, planner::Effort effort, int64_t enough_bytes, double budget) {
        return planner::pack(blocks, {effort, enough_bytes, budget});
      },
      pb::arg("blocks"), pb::arg("effort") = planner::Effort::kFast, pb::arg("enough_bytes") = 0,
      pb::arg("budget") = 1.0, pb::call_guard<pb::gil_scoped_release>());
  m.def(
      "check_packing",
      [](const std::vector<Block>& blocks, const std::vector<int64_t>& offsets) {
        planner::check_packing(blocks, offsets);
      },
      pb::call_guard<pb::gil_scoped_release>());
}

}  // namespace tw::py
