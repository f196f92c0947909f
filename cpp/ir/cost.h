// How much work a node is, by its op's cost rule.
#pragma once

#include "ir/graph.h"

namespace tw::ir {

// An op that has no rule (it is written with others) counts as one operation for each element of its outputs.
Cost cost_of(const Node& node);
std::vector<Cost> node_costs(const Graph& graph);

}  // namespace tw::ir
