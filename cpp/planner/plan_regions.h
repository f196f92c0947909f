// Control flow: a region of the graph becomes a plan that the launch of its node runs.
#pragma once

#include <unordered_map>

#include "ir/graph.h"
#include "plan/plan.h"

namespace tw::planner {

using RegionPlans = std::unordered_map<const ir::Node*, plan::Region>;

// Plans the regions of all nodes of a graph, those inside them first.
RegionPlans plan_regions(ir::Graph& graph, const ir::Graph& root);
// What its plans need while one of them runs.
int64_t arena_bytes(const plan::Region& region);

}  // namespace tw::planner
