// Stages: (1) find the nodes whose results only assignments see; (2) the others in the graph's order, then
// those. Nodes with regions are never left for last: what they draw moves the draws of nodes behind them, so
// these may not overtake them; nor are boxings, which may fail.
#include "planner/order.h"

#include "ir/control.h"

namespace tw::planner {

namespace {

// Of each node, whether it makes an assigned value, or what it is a view of, and nobody but assignments and
// such nodes reads what it makes.
std::vector<char> commit_nodes(ir::Graph& graph) {
  const auto count = static_cast<size_t>(graph.number());
  std::vector<char> read(count), assigned(count), commits(graph.nodes.size());
  auto mark = [](std::vector<char>& values, const ir::Value& value) {
    values[ir::graph_value(value).id] = 1;
  };
  for (const ir::Value& output : graph.outputs) mark(read, output);
  for (const ir::Assignment& assignment : graph.assignments) mark(assigned, assignment.value);
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    const ir::Node& node = *graph.nodes[i];
    bool assigns = false, seen = false;
    for (const ir::GraphRef& output : node.outputs) {
      assigns |= assigned[output->id] != 0;
      seen |= read[output->id] != 0;
    }
    commits[i] = assigns && !seen && node.regions.empty() && !ir::has_effects(node);
    if (commits[i]) {
      if (node.def->view) mark(assigned, node.inputs[0]);
      continue;
    }
    for (const ir::Value& input : node.inputs)
      if (input) mark(read, input);
  }
  // A view of what is there before the commit comes before it, too: what it looks at, an old value that is to
  // be written over, can then be taken out of the way.
  std::vector<char> made(count);
  for (size_t i = 0; i < graph.nodes.size(); i++) {
    const ir::Node& node = *graph.nodes[i];
    if (commits[i] && node.def->view) commits[i] = made[ir::graph_value(node.inputs[0]).id];
    for (const ir::GraphRef& output : node.outputs) made[output->id] = commits[i];
  }
  return commits;
}

}  // namespace

Order recorded_order(ir::Graph& graph) {
  std::vector<char> commits = commit_nodes(graph);
  Order order;
  order.nodes.reserve(graph.nodes.size());
  for (char wanted : {0, 1}) {
    order.commit = order.nodes.size();
    for (size_t i = 0; i < graph.nodes.size(); i++)
      if (commits[i] == wanted) order.nodes.push_back(graph.nodes[i].get());
  }
  return order;
}

}  // namespace tw::planner
