// Takes out the nodes that neither an output nor an assignment needs. Nodes without results stay: what they
// do is raise errors.
//
//   %2 = exp(%0) : float32[8]
//   %3 = neg(%2) : float32[8]
//   %4, %5 = dropout_of(%3) draw 0 : float32[8], bool[8]
//   %6, %7 = dropout_of(%2) draw 1 : float32[8], bool[8]
//   assign %1 = %2
//   return %6
//   draws 2
// →
//   %2 = exp(%0) : float32[8]
//   %3, %4 = dropout_of(%2) draw 1 : float32[8], bool[8]
//   assign %1 = %2
//   return %3
//   draws 2
//
// The other random nodes keep their draws, and a run takes as many from the generator as before: the numbers
// stay those of eager mode. Inputs, variables and constants stay: they are the graph's signature.
#include <algorithm>

#include "ir/control.h"
#include "passes/simplify/simplify.h"

namespace tw::passes {

void remove_dead_code(ir::Graph& graph) {
  std::vector<char> live(graph.number());
  auto need = [&](const ir::Value& value) {
    if (value) live[ir::graph_value(value).id] = 1;
  };
  for (const ir::Value& output : graph.outputs) need(output);
  for (const ir::Assignment& assignment : graph.assignments) need(assignment.value);
  // From the back: whoever uses a value has been seen before the node that makes it.
  std::vector<std::unique_ptr<ir::Node>> kept;
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    std::unique_ptr<ir::Node>& node = graph.nodes[i];
    bool needed = ir::has_effects(*node);
    for (const ir::GraphRef& output : node->outputs) needed |= live[output->id] != 0;
    if (!needed) continue;
    for (const ir::Value& input : node->inputs) need(input);
    kept.push_back(std::move(node));
  }
  std::reverse(kept.begin(), kept.end());
  graph.nodes = std::move(kept);
}

}  // namespace tw::passes
