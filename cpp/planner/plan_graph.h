// graph → plan, for one device and one stream: order, places, arena.
#pragma once

#include "ir/graph.h"
#include "plan/plan.h"

namespace tw::planner {

inline constexpr int64_t kArenaAlignment = 64;  // of every buffer in the arena

// The same graph gives the same plan, byte for byte. `graph` gets its values numbered.
plan::Plan plan_graph(ir::Graph& graph);

}  // namespace tw::planner
