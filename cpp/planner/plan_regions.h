// Control flow: a region of the graph becomes a plan that the launch of its node runs.
#pragma once

#include <unordered_map>
#include <vector>

#include "ir/graph.h"
#include "plan/plan.h"

namespace tw::planner {

using RegionPlans = std::unordered_map<const ir::Node*, plan::Region>;

// Plans the regions of all nodes of a graph, those inside them first.
RegionPlans plan_regions(ir::Graph& graph, const ir::Graph& root, int64_t first_rank = 0);
// What its plans need on each of their devices while one of them runs.
std::vector<int64_t> arena_bytes(const plan::Region& region);

}  // namespace tw::planner
