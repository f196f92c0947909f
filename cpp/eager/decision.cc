#include "eager/decision.h"

#include <algorithm>
#include <unordered_set>

#include "comm/world.h"
#include "eager/region_tape.h"
#include "ir/emitter.h"
#include "ir/layouts.h"
#include "ops/boxing/local_parts.h"

namespace tw::eager {

using ir::Graph;
using ir::Value;

namespace {

sbp::PlacementRef placement_in(const Graph& graph) {
  for (const auto& node : graph.nodes) {
    for (const ir::GraphValue* tensor : ir::tensors_of(*node))
      if (tensor && tensor->layout) return tensor->layout->placement;
    for (const auto& region : node->regions)
      if (sbp::PlacementRef found = placement_in(*region)) return found;
  }
  return nullptr;
}

bool takes_parts(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, [](const auto& node) {
    return ir::is_take_part(*node->def) ||
           std::ranges::any_of(node->regions, [](const auto& region) { return takes_parts(*region); });
  });
}

// While regions are recorded, their nodes read values around them as their own. What stands for an input of
// an open region may be a part.
bool is_made_of_parts(Graph& whole, const Value& value) {
  std::unordered_set<const ir::ValueImpl*> leaves, seen;
  for (const auto* list : {&whole.inputs, &whole.variables, &whole.constants})
    for (const ir::Leaf& leaf : *list) leaves.insert(leaf.value.get());
  std::vector<const ir::GraphValue*> stack = {&ir::graph_value(value)};
  while (!stack.empty()) {
    const ir::GraphValue& one = *stack.back();
    stack.pop_back();
    if (!seen.insert(&one).second || leaves.contains(&one) || one.layout) continue;
    if (!one.node || ir::is_take_part(*one.node->def)) return true;
    for (const auto& region : one.node->regions)
      if (takes_parts(*region)) return true;
    for (const Value& input : one.node->inputs)
      if (input) stack.push_back(&ir::graph_value(input));
  }
  return false;
}

// The part of every device of this process is the same.
Value join(Graph& graph, const Value& part, const sbp::LayoutRef& layout, const Dims& sizes) {
  static const ir::OpDef& join_parts = ir::registry().get("join_parts");
  ops::JoinPartsAttrs attrs{sbp::name_of(*layout), {}, {}, part->dtype};
  ir::Values parts;
  for (int64_t position : addressable(*layout->placement).positions) {
    attrs.ranks.push_back(layout->placement->ranks[position]);
    parts.push_back(part);
  }
  attrs.size.append(sizes.begin(), sizes.end());
  const int starts[] = {0, static_cast<int>(parts.size())};
  ir::Node& node = graph.append(join_parts, {parts.data(), parts.size()}, starts, &attrs);
  node.outputs[0]->layout = layout;
  return node.outputs[0];
}

// Every device has a vote, and they have to be the same.
Value voted(const char* op, Graph& graph, const Value& pred, const sbp::Placement& placement) {
  ir::GraphEmitter emitter(graph);
  ir::Emitter* before = ir::Emitter::swap_current(&emitter);
  const Dims count{placement.count()};
  const sbp::PlacementRef line = sbp::placement(placement.type, count, placement.ranks);
  const Value votes =
      join(graph, ir::op<"reshape">(pred, IntList{1}), sbp::layout(line, {sbp::split(0)}), count);
  static const ir::OpDef& boxing = ir::registry().get("boxing");
  ir::Node& told = graph.append(boxing, {&votes, 1}, {}, boxing.defaults());
  told.outputs[0]->layout = broadcast_on(line);
  const Value all(told.outputs[0]), yes = ir::op<"any">(all);
  ir::ops<"assert_none">(
      ir::op<"ne">(yes, ir::op<"all">(all)), "RuntimeError",
      cat(op, ": it decides by parts of global tensors, and by these the processes decide ",
          "differently; make what decides a global tensor, by local_to_global()"));
  ir::Emitter::swap_current(before);
  return yes;
}

}  // namespace

sbp::PlacementRef placement_of_regions(const Tracer& tracer,
                                       std::initializer_list<const RegionRecorder*> regions) {
  for (const RegionRecorder* region : regions) {
    for (const auto* tensors : {&region->inputs, &region->results})
      for (const Tensor& tensor : *tensors)
        if (tensor->global) return placement_of(*tensor);
    for (const TracedRegion::Write& write : region->traced.writes)
      for (const Tensor& tensor : tracer.globals_over(*write.storage)) return placement_of(*tensor);
    if (sbp::PlacementRef found = placement_in(*region->traced.graph)) return found;
  }
  return nullptr;
}

Value decided(Tracer& tracer, const char* op, Graph& graph, const Value& pred,
              const sbp::PlacementRef& placement) {
  if (!placement || !tracer.parts_taken || !is_made_of_parts(tracer.graph(), pred)) return pred;
  if (comm::world().processes().size() > 1) return voted(op, graph, pred, *placement);
  return join(graph, pred, broadcast_on(placement), {});
}

}  // namespace tw::eager
