#include "ir/verify_layouts.h"

#include "ir/layouts.h"

namespace tw::ir {

namespace {

std::string names_of(const std::vector<const GraphValue*>& tensors, size_t first, size_t last) {
  std::string out;
  for (size_t i = first; i < last; i++)
    out += (i > first ? ", " : "") + (tensors[i] ? sbp::name_of(tensors[i]->layout->sbp) : "None");
  return out;
}

// Whether a signature says so of each axis. Along an axis of one device all layouts are one, and so are those
// of a tensor without elements.
bool is_offered(const Node& node, const std::vector<const GraphValue*>& tensors,
                const sbp::Placement& placement) {
  Dims shape;
  for (int64_t devices : placement.shape)
    if (devices > 1) shape.push_back(devices);
  if (shape.empty()) return true;
  const sbp::PlacementRef reduced = sbp::placement(placement.type, shape, placement.ranks);
  std::vector<const sbp::Layout*> layouts;
  for (const GraphValue* tensor : tensors) {
    sbp::NdSbp sbp;
    for (size_t axis = 0; tensor && axis < placement.shape.size(); axis++)
      if (placement.shape[axis] > 1) sbp.push_back(tensor->layout->sbp[axis]);
    layouts.push_back(tensor && tensor->count() > 0 ? sbp::layout(reduced, sbp).get() : nullptr);
  }
  return sbp::offers(signatures_of(node), layouts, sizes_of(tensors));
}

}  // namespace

std::string layout_problem(const GraphValue& value) {
  if (!value.layout) return "";
  try {
    sbp::check_layout(*value.layout, value.sizes, "a layout");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::string layout_problem(const Node& node) {
  std::vector<const GraphValue*> tensors = tensors_of(node);
  std::vector<const sbp::Layout*> layouts;
  const sbp::Layout* first = nullptr;
  bool all = true;
  for (const GraphValue* tensor : tensors) {
    layouts.push_back(tensor ? tensor->layout.get() : nullptr);
    if (!tensor) continue;
    all &= layouts.back() != nullptr;
    if (!first) first = layouts.back();
  }
  if (!first || is_boxing(*node.def)) return "";
  for (const sbp::Layout* layout : layouts)
    if (layout && layout->placement != first->placement)
      return cat("its tensors lie on ", *first->placement, " and on ", *layout->placement);
  if (!all || is_offered(node, tensors, *first->placement)) return "";
  size_t inputs = node.inputs.size();
  return cat(node.def->name(), " offers no signature ", names_of(tensors, 0, inputs), " -> ",
             names_of(tensors, inputs, tensors.size()));
}

}  // namespace tw::ir
