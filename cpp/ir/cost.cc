#include "ir/cost.h"

namespace tw::ir {

Cost cost_of(const Node& node) {
  CostContext context;
  context.attributes = node.attrs.get();
  double elements = 0;
  for (const Value& input : node.inputs)
    context.inputs.push_back(input ? Meta{input->dtype, input->sizes} : Meta{});
  // Rules see the outputs of the schema: what is written in place has counted as an input.
  size_t count = node.outputs.size() - mutated_inputs(node).size();
  for (size_t i = 0; i < count; i++) {
    const GraphValue& output = *node.outputs[i];
    context.outputs.push_back({output.dtype, output.sizes});
    elements += static_cast<double>(output.count());
  }
  if (node.def->cost) return node.def->cost(context);
  return {elements, context.bytes(), 0};
}

std::vector<Cost> node_costs(const Graph& graph) {
  std::vector<Cost> costs;
  costs.reserve(graph.nodes.size());
  for (const auto& node : graph.nodes) costs.push_back(cost_of(*node));
  return costs;
}

}  // namespace tw::ir
