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
  if (!all || sbp::offers(signatures_of(node), layouts, sizes_of(tensors))) return "";
  size_t inputs = node.inputs.size();
  return cat(node.def->name(), " offers no signature ", names_of(tensors, 0, inputs), " -> ",
             names_of(tensors, inputs, tensors.size()));
}

}  // namespace tw::ir
