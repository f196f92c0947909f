// Stages: (1) find the nodes whose results only assignments see; (2) the others in the graph's order, in
// which a trace puts backward right after forward, then those.
#include "planner/order.h"

#include <unordered_set>

namespace tw::planner {

namespace {

// Nodes that make an assigned value, or what it is a view of, and whose results nobody but assignments and
// such nodes read.
std::unordered_set<const ir::Node*> commit_nodes(const ir::Graph& graph) {
  std::unordered_set<const ir::ValueImpl*> read, assigned;
  for (const ir::Value& output : graph.outputs) read.insert(output.get());
  for (const ir::Assignment& assignment : graph.assignments) assigned.insert(assignment.value.get());
  std::unordered_set<const ir::Node*> result;
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    const ir::Node& node = *graph.nodes[i];
    bool assigns = false, seen = false;
    for (const ir::GraphRef& output : node.outputs) {
      assigns |= assigned.count(output.get()) > 0;
      seen |= read.count(output.get()) > 0;
    }
    if (assigns && !seen) {
      result.insert(&node);
      if (!node.def->view) continue;
      assigned.insert(node.inputs[0].get());
      continue;
    }
    for (const ir::Value& input : node.inputs)
      if (input) read.insert(input.get());
  }
  return result;
}

}  // namespace

Order order_nodes(ir::Graph& graph) {
  auto last = commit_nodes(graph);
  Order order;
  for (auto& node : graph.nodes)
    if (!last.count(node.get())) order.nodes.push_back(node.get());
  order.commit = order.nodes.size();
  for (auto& node : graph.nodes)
    if (last.count(node.get())) order.nodes.push_back(node.get());
  return order;
}

}  // namespace tw::planner
