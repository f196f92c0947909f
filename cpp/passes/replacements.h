// Values that give way to others, for passes that walk a graph from front to back:
//
//   Replacements replacements(graph);
//   for (auto& node : graph.nodes) {
//     replacements.update(*node);                  // its inputs are final now
//     if (...) replacements.replace(*node, value);  // a value defined before the node
//   }
//   replacements.finish();
#pragma once

#include "ir/graph.h"

namespace tw::passes {

class Replacements {
 public:
  explicit Replacements(ir::Graph& graph) : graph_(graph), by_(graph.number()) {}

  // Puts the replacements of a node's inputs in their place.
  void update(ir::Node& node) {
    for (ir::Value& input : node.inputs) update(input);
  }
  // All uses of the node's output from here on become uses of `value`, which is final: an input of an updated
  // node, an output of one that is not replaced, or a leaf.
  void replace(const ir::Node& node, const ir::Value& value, int output = 0) {
    by_[node.outputs[output]->id] = value;
  }
  // Updates outputs and assignments, and takes out the nodes whose outputs are all replaced.
  void finish();

 private:
  void update(ir::Value& value) {
    if (!value) return;
    const ir::Value& by = by_[ir::graph_value(value).id];
    if (by) value = by;
  }

  ir::Graph& graph_;
  std::vector<ir::Value> by_;  // by the number of the value; null where it stays
};

}  // namespace tw::passes
