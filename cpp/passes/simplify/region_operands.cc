// Takes out the operands and results of control flow that nobody needs: results that are not read, captures
// that the region does not read, and carried values that only they themselves depend on.
//
//   %3, %4 = loop(None, None, [%0, %1], [], [%2], length=4) body {
//     input %0 "" : float32[]
//     input %1 "" : float32[]
//     input %2 "" : float32[]
//     %3 = add(%0, %2) : float32[]
//     %4 = mul(%1, %3) : float32[]
//     return %3, %4
//   } : float32[], float32[]
//   return %3
// →
//   %3 = loop(None, None, [%0], [], [%1], length=4) body {
//     input %0 "" : float32[]
//     input %1 "" : float32[]
//     %2 = add(%0, %1) : float32[]
//     return %2
//   } : float32[]
//   return %3
//
// With them go the nodes of the regions that only they needed. What the numbers drawn inside depend on is not
// touched: random nodes that go leave their draws behind.
#include <algorithm>

#include "ir/control.h"
#include "passes/simplify/simplify.h"

namespace tw::passes {

namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

template <class List>
void keep_only(List& list, const std::vector<char>& keep, size_t first = 0) {
  size_t next = first;
  for (size_t i = first; i < list.size(); i++)
    if (keep[i - first]) {
      if (next != i) list[next] = std::move(list[i]);
      next++;
    }
  list.resize(next);
}

void keep_outputs(Graph& region, const std::vector<char>& keep) {
  keep_only(region.outputs, keep);
  if (!region.output_ranks.empty()) keep_only(region.output_ranks, keep);
}

void keep_leaves(std::vector<ir::Leaf>& leaves, const std::vector<char>& keep) {
  size_t next = 0;
  for (size_t i = 0; i < leaves.size(); i++)
    if (keep[i]) {
      if (next != i) leaves[next] = std::move(leaves[i]);
      next++;
    }
  leaves.resize(next);
}

// Which inputs of a region its outputs marked in `wanted`, and its effects, depend on.
std::vector<char> needed_inputs(Graph& region, const std::vector<char>& wanted) {
  std::vector<char> live(region.number());
  for (size_t i = 0; i < wanted.size(); i++)
    if (wanted[i]) live[ir::graph_value(region.outputs[i]).id] = 1;
  for (size_t i = region.nodes.size(); i-- > 0;) {
    const Node& node = *region.nodes[i];
    bool needed = ir::has_effects(node);
    for (const ir::GraphRef& output : node.outputs) needed |= live[output->id] != 0;
    if (!needed) continue;
    for (const Value& input : node.inputs)
      if (input) live[ir::graph_value(input).id] = 1;
  }
  live.resize(region.inputs.size());  // their numbers come first
  return live;
}

void drop_outputs(Node& node, const std::vector<char>& keep) {
  keep_only(node.outputs, keep);
  for (size_t i = 0; i < node.outputs.size(); i++) node.outputs[i]->output = static_cast<int>(i);
}

void trim_cond(Node& node, const std::vector<char>& read) {
  std::vector<char> inputs(node.inputs.size() - 1);
  for (auto& region : node.regions) {
    keep_outputs(*region, read);
    remove_dead_code(*region);
    std::vector<char> needed = needed_inputs(*region, std::vector<char>(region->outputs.size(), 1));
    for (size_t i = 0; i < inputs.size(); i++) inputs[i] |= needed[i];
  }
  drop_outputs(node, read);
  for (auto& region : node.regions) keep_leaves(region->inputs, inputs);
  keep_only(node.inputs, inputs, 1);
  node.starts[2] = static_cast<int>(node.inputs.size());
}

void trim_loop(Node& node, const std::vector<char>& read) {
  const ir::LoopShape shape = ir::loop_shape(node);
  Graph& body = *node.regions[0];
  // Grows until nothing is added: carried values feed one another.
  std::vector<char> outputs(body.outputs.size()), inputs;
  if (shape.pred) outputs[0] = 1;
  for (size_t i = 0; i < read.size(); i++) outputs[i + shape.pred] = read[i];
  for (bool grown = true; grown;) {
    grown = false;
    inputs = needed_inputs(body, outputs);
    for (int i = 0; i < shape.carried; i++) {
      char& output = outputs[i + shape.pred];
      if (inputs[i] && !output) output = 1, grown = true;
    }
  }
  for (int i = 0; i < shape.carried; i++) inputs[i] = outputs[i + shape.pred];
  auto count = [&](int from, int number) {
    return static_cast<int>(std::count(inputs.begin() + from, inputs.begin() + from + number, 1));
  };
  auto starts = ir::loop_starts(count(0, shape.carried), count(shape.carried, shape.slices),
                                count(shape.carried + shape.slices, shape.captures));
  keep_outputs(body, outputs);
  remove_dead_code(body);
  drop_outputs(node, {outputs.begin() + shape.pred, outputs.end()});
  keep_leaves(body.inputs, inputs);
  keep_only(node.inputs, inputs, 2);
  node.starts = starts;
}

}  // namespace

void remove_region_operands(Graph& graph) {
  std::vector<char> read(graph.number());
  auto mark = [&](const Value& value) {
    if (value) read[ir::graph_value(value).id] = 1;
  };
  for (const Value& output : graph.outputs) mark(output);
  for (const ir::Assignment& assignment : graph.assignments) mark(assignment.value);
  // From the back: what a node no longer takes may be what another gives.
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    Node& node = *graph.nodes[i];
    if (!node.regions.empty()) {
      std::vector<char> outputs;
      for (const ir::GraphRef& output : node.outputs) outputs.push_back(read[output->id]);
      ir::control_kind(*node.def) == ir::ControlKind::kCond ? trim_cond(node, outputs)
                                                            : trim_loop(node, outputs);
    }
    for (const Value& input : node.inputs) mark(input);
  }
}

}  // namespace tw::passes
