// Placements, layouts and the ways between local and global tensors. thalweg.frontend.placement gives them
// their faces.
#include <pybind11/stl.h>

#include "boxing/links.h"
#include "eager/global.h"
#include "eager/modes.h"
#include "native.h"
#include "sbp/boxing.h"

namespace tw::py {

namespace pb = pybind11;
using eager::Tensor;

namespace {

// Interned objects, which live as long as the process.
struct PlacementHandle {
  sbp::PlacementRef ref;
};
struct LayoutHandle {
  sbp::LayoutRef ref;
};

constexpr const char* kReduces[] = {"sum", "max", "min"};

// ("S", dim, unit, sizes), ("B",) or ("P", reduction).
pb::tuple sbp_object(const sbp::Sbp& s) {
  if (s.kind == sbp::Kind::kBroadcast) return pb::make_tuple("B");
  if (s.kind == sbp::Kind::kSplit) return pb::make_tuple("S", s.dim, s.unit, s.sizes);
  return pb::make_tuple("P", kReduces[static_cast<int>(s.reduce)]);
}

sbp::Sbp sbp_of(const pb::tuple& object) {
  auto kind = object[0].cast<std::string>();
  if (kind == "B") return sbp::broadcast();
  if (kind == "S") {
    auto sizes = object[3].cast<std::vector<int64_t>>();
    int64_t dim = object[1].cast<int64_t>();
    return sizes.empty() ? sbp::split(dim, object[2].cast<int64_t>()) : sbp::split_as(dim, std::move(sizes));
  }
  auto reduction = object[1].cast<std::string>();
  for (int i = 0; i < 3; i++)
    if (reduction == kReduces[i]) return sbp::partial(static_cast<sbp::ReduceOp>(i));
  TW_FAIL(kInternal, "sbp: there is no reduction ", reduction);
}

std::vector<int64_t> listed(const Dims& dims) { return {dims.begin(), dims.end()}; }
Dims dims_of(const std::vector<int64_t>& list) { return {list.begin(), list.end()}; }

const Tensor& global_of(const Tensor& tensor, const char* op) {
  TW_CHECK(tensor->global, kRuntime, op, ": a global tensor is wanted, got ", eager::where_is(*tensor));
  return tensor;
}

sbp::LayoutRef ref_of(const std::optional<LayoutHandle>& handle) { return handle ? handle->ref : nullptr; }

void bind_placement(pb::module_& m) {
  pb::class_<PlacementHandle>(m, "Placement",
                              "A device type and an array of ranks; equal ones are one object.")
      .def(pb::init(
          [](const std::string& type, const std::vector<int64_t>& shape, const std::vector<int64_t>& ranks) {
            return PlacementHandle{sbp::placement(type, dims_of(shape), ranks)};
          }))
      .def_property_readonly(
          "type", [](const PlacementHandle& p) { return p.ref->type; }, "The kind of device.")
      .def_property_readonly(
          "shape", [](const PlacementHandle& p) { return listed(p.ref->shape); }, "Of the array of ranks.")
      .def_property_readonly(
          "ranks", [](const PlacementHandle& p) { return p.ref->ranks; }, "The ranks, row-major.")
      .def("addressable", [](const PlacementHandle& p) { return eager::addressable(*p.ref).positions; })
      .def("__eq__", [](const PlacementHandle& a, const PlacementHandle& b) { return a.ref == b.ref; })
      .def("__hash__",
           [](const PlacementHandle& p) { return reinterpret_cast<uintptr_t>(p.ref.get()) >> 4; });
  pb::class_<LayoutHandle>(m, "Layout", "A placement and one SBP for each of its axes.")
      .def(pb::init([](const PlacementHandle& placement, const std::vector<pb::tuple>& sbp) {
        sbp::NdSbp list;
        for (const pb::tuple& s : sbp) list.push_back(sbp_of(s));
        return LayoutHandle{sbp::layout(placement.ref, list)};
      }))
      .def_property_readonly("placement",
                             [](const LayoutHandle& l) { return PlacementHandle{l.ref->placement}; })
      .def_property_readonly("sbp",
                             [](const LayoutHandle& l) {
                               pb::list result;
                               for (const sbp::Sbp& s : l.ref->sbp) result.append(sbp_object(s));
                               return result;
                             })
      .def("box",
           [](const LayoutHandle& l, const std::vector<int64_t>& sizes, int64_t position) {
             sbp::Box box = box_of(*l.ref, dims_of(sizes), position);
             return std::make_pair(listed(box.first), listed(box.sizes));
           })
      .def("__eq__", [](const LayoutHandle& a, const LayoutHandle& b) { return a.ref == b.ref; })
      .def("__repr__", [](const LayoutHandle& l) { return name_of(*l.ref); });
}

}  // namespace

void bind_global(pb::module_& m) {
  bind_placement(m);
  m.def("is_global", [](const Tensor& tensor) { return tensor->global != nullptr; });
  // Of a traced tensor whose layout is not decided: B on its placement.
  m.def("layout_of",
        [](const Tensor& tensor, const char* op) { return LayoutHandle{layout_of(*global_of(tensor, op))}; });
  m.def("is_decided", [](const Tensor& tensor) { return !tensor->global || tensor->global->decided; });
  m.def("outside_trace", [](const pb::function& function) {
    eager::TracerPause pause;
    return function();
  });
  m.def("is_tracing", [] { return eager::modes().tracer != nullptr; });
  m.def("to_global",
        [](const Tensor& tensor, const LayoutHandle& to, const std::optional<LayoutHandle>& grad) {
          return eager::to_global(global_of(tensor, "to_global"), to.ref, ref_of(grad));
        });
  m.def("whole_to_global",
        [](const Tensor& whole, const LayoutHandle& to, const std::optional<LayoutHandle>& grad) {
          return eager::whole_to_global(whole, to.ref, ref_of(grad));
        });
  m.def("parts_to_global", [](const std::vector<Tensor>& parts, const std::vector<int64_t>& sizes,
                              const LayoutHandle& to, const std::optional<LayoutHandle>& grad) {
    return eager::parts_to_global(parts, dims_of(sizes), to.ref, ref_of(grad));
  });
  m.def("to_parts", [](const Tensor& tensor) { return eager::to_parts(global_of(tensor, "to_local")); });
  m.def("whole_here", [](const Tensor& tensor) { return eager::whole_here(*global_of(tensor, "numpy")); });
  m.def("is_copied_view", [](const Tensor& tensor) { return tensor->global && tensor->global->copied; });
  m.def("empty_global", [](const std::vector<int64_t>& sizes, DType dtype, const LayoutHandle& layout) {
    return eager::empty_global(dims_of(sizes), dtype, layout.ref);
  });
  m.def("explain_boxing", [](const LayoutHandle& from, const LayoutHandle& to,
                             const std::vector<int64_t>& sizes, DType dtype) {
    return sbp::explain(*plan_boxing(from.ref, to.ref, dims_of(sizes), size_of(dtype), boxing::link_model()));
  });
  // How ops without inputs lay out their results on this thread; returns what it was.
  m.def("set_creation", [](const std::optional<LayoutHandle>& layout) {
    if (layout) eager::g_globals_exist = true;  // what is made next is one, and dispatch has to look for it
    const sbp::Layout* before = std::exchange(eager::modes().creation, layout ? layout->ref.get() : nullptr);
    return before ? std::make_optional(LayoutHandle{sbp::LayoutRef(before)}) : std::nullopt;
  });
}

}  // namespace tw::py
