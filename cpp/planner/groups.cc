#include "planner/groups.h"

namespace tw::planner {

Groups find_groups(const ir::Graph& graph) {
  Groups groups;
  auto put = [&](const ir::GraphValue& value, int group) {
    if (static_cast<size_t>(value.id) >= groups.of.size()) groups.of.resize(value.id + 1, -1);
    groups.of[value.id] = group;
  };
  auto fresh = [&](int64_t bytes) {
    groups.bytes.push_back(bytes);
    return static_cast<int>(groups.bytes.size()) - 1;
  };
  for (const auto* leaves : {&graph.inputs, &graph.variables, &graph.constants})
    for (const ir::Leaf& leaf : *leaves) put(*leaf.value, fresh(0));
  for (const auto& node : graph.nodes)
    for (const ir::GraphRef& output : node->outputs)
      put(*output, node->def->view ? groups.of[ir::graph_value(node->inputs[0]).id]
                                   : fresh(output->count() * size_of(output->dtype)));
  for (const ir::Value& output : graph.outputs) groups.bytes[groups.of[ir::graph_value(output).id]] = 0;
  return groups;
}

}  // namespace tw::planner
