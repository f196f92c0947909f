#include "ir/verify_layouts.h"

#include "ir/control.h"
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

bool lie_alike(const GraphValue& a, const GraphValue& b) {
  return !a.layout || !b.layout || sbp::same_parts(*a.layout, *b.layout, b.sizes);
}

// A part along dim 0 lies as the whole does, dim for dim.
bool is_part_of(const GraphValue& part, const GraphValue& whole) {
  if (!part.layout || !whole.layout) return true;
  if (part.layout->placement != whole.layout->placement) return false;
  sbp::NdSbp sbp = part.layout->sbp;
  for (sbp::Sbp& one : sbp)
    if (one.kind == sbp::Kind::kSplit) one.dim++;
  return sbp::same_parts(*sbp::layout(part.layout->placement, sbp), *whole.layout, whole.sizes);
}

std::string unlike(const char* what, size_t number, const GraphValue& inside, const GraphValue& outside) {
  return cat(what, " ", number, " of a region lies as ", *inside.layout, ", and around it as ",
             *outside.layout);
}

std::string pred_problem(const Value& pred) {
  if (!pred || !graph_value(pred).layout || graph_value(pred).layout->is_broadcast()) return "";
  return cat("what decides has to be known to all devices, but it lies as ", *graph_value(pred).layout);
}

std::string cond_problem(const Node& node) {
  for (const auto& region : node.regions) {
    for (size_t i = 0; i < region->inputs.size(); i++)
      if (!lie_alike(*region->inputs[i].value, graph_value(node.inputs[i + 1])))
        return unlike("input", i, *region->inputs[i].value, graph_value(node.inputs[i + 1]));
    for (size_t i = 0; i < region->outputs.size(); i++)
      if (!lie_alike(graph_value(region->outputs[i]), *node.outputs[i]))
        return unlike("output", i, graph_value(region->outputs[i]), *node.outputs[i]);
  }
  return "";
}

std::string loop_problem(const Node& node) {
  const LoopShape shape = loop_shape(node);
  const Graph& body = *node.regions[0];
  if (std::string problem = pred_problem(node.inputs[1]); !problem.empty()) return problem;
  if (shape.pred)
    if (std::string problem = pred_problem(body.outputs[0]); !problem.empty()) return problem;
  for (size_t i = 0; i < body.inputs.size(); i++) {
    const GraphValue &inside = *body.inputs[i].value, &outside = graph_value(node.inputs[i + 2]);
    const auto number = static_cast<int>(i);
    const bool slice = number >= shape.carried && number < shape.carried + shape.slices;
    if (!(slice ? is_part_of(inside, outside) : lie_alike(inside, outside)))
      return unlike("input", i, inside, outside);
  }
  for (size_t i = 0; i < node.outputs.size(); i++) {
    const GraphValue &inside = graph_value(body.outputs[i + shape.pred]), &outside = *node.outputs[i];
    const bool stacked = static_cast<int>(i) >= shape.carried;
    if (!(stacked ? is_part_of(inside, outside) : lie_alike(inside, outside)))
      return unlike("output", i, inside, outside);
    if (!stacked && !lie_alike(inside, *body.inputs[i].value))
      return cat("carried value ", i, " goes in as ", *body.inputs[i].value->layout, ", and round as ",
                 *inside.layout);
  }
  return "";
}

// What decides is whole, and values lie in regions as around them.
std::string control_problem(const Node& node) {
  if (std::string problem = pred_problem(node.inputs[0]); !problem.empty()) return problem;
  return control_kind(*node.def) == ControlKind::kCond ? cond_problem(node) : loop_problem(node);
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
  if (is_control(*node.def)) return control_problem(node);
  for (const sbp::Layout* layout : layouts)
    if (layout && layout->placement != first->placement)
      return cat("its tensors lie on ", *first->placement, " and on ", *layout->placement);
  if (!all || is_offered(node, tensors, *first->placement)) return "";
  size_t inputs = node.inputs.size();
  return cat(node.def->name(), " offers no signature ", names_of(tensors, 0, inputs), " -> ",
             names_of(tensors, inputs, tensors.size()));
}

}  // namespace tw::ir
