// Takes small values that depend on nothing out of regions: computed once, not in every iteration.
//
//   %2 = loop(None, None, [%0], [], [], length=4) body {
//     input %0 "" : float32[]
//     %1 = full(size=[], fill_value=0.5, dtype=float32) : float32[]
//     %2 = mul(%0, %1) : float32[]
//     return %2
//   } : float32[]
// →
//   %1 = full(size=[], fill_value=0.5, dtype=float32) : float32[]
//   %2 = loop(None, None, [%0], [], [%1], length=4) body {
//     input %0 "" : float32[]
//     input %1 "" : float32[]
//     %2 = mul(%0, %1) : float32[]
//     return %2
//   } : float32[]
//
// Inside, other passes no longer see what they are: it comes after those. In regions that run on several
// accelerators they stay, since each of these may read them.
#include "ir/layouts.h"
#include "passes/memory/memory.h"

namespace tw::passes {

namespace {

using ir::Graph;
using ir::Node;

constexpr int64_t kMostBytes = 4096;

bool is_literal(const Node& node) {
  if (!node.inputs.empty() || node.outputs.size() != 1 || !node.lifted.empty()) return false;
  if (ir::is_boxing_part(*node.def)) return false;  // to which this process gives nothing
  const ir::GraphValue& value = *node.outputs[0];
  return node.def->random_key_offset < 0 && node.regions.empty() &&
         value.count() * size_of(value.dtype) <= kMostBytes;
}

// Makes the literal's own value an input of its region, and gives the node another output.
void move_out(Node& owner, Graph& region, std::unique_ptr<Node> literal,
              std::vector<std::unique_ptr<Node>>* around) {
  ir::GraphRef inside = literal->outputs[0];
  ir::GraphRef outside = ir::make_graph_value(inside->dtype, inside->sizes);
  inside->node = nullptr;
  outside->node = literal.get();
  literal->outputs[0] = outside;
  for (auto& other : owner.regions)
    other->inputs.push_back(
        {"", other.get() == &region ? inside : ir::make_graph_value(inside->dtype, inside->sizes)});
  owner.inputs.push_back(outside);
  owner.starts.back() = static_cast<int>(owner.inputs.size());
  around->push_back(std::move(literal));
}

}  // namespace

void hoist_literals(Graph& graph) {
  std::vector<std::unique_ptr<Node>> nodes;
  nodes.reserve(graph.nodes.size());
  for (auto& node : graph.nodes) {
    for (auto& region : node->regions) {
      if (region->ranks.size() > 1) continue;
      std::vector<std::unique_ptr<Node>> kept;
      for (auto& one : region->nodes) {
        if (is_literal(*one))
          move_out(*node, *region, std::move(one), &nodes);
        else
          kept.push_back(std::move(one));
      }
      region->nodes = std::move(kept);
    }
    nodes.push_back(std::move(node));
  }
  graph.nodes = std::move(nodes);
}

}  // namespace tw::passes
