// graph → plan, for one device and one stream: order, places, arena.
#pragma once

#include <span>

#include "ir/graph.h"
#include "plan/plan.h"

namespace tw::planner {

inline constexpr int64_t kArenaAlignment = 64;  // of every buffer in the arena

// The same graph gives the same plan, byte for byte. `graph` gets its values numbered.
// Inputs lie in these strides, without gaps; in row-major order where none are given.
plan::Plan plan_graph(ir::Graph& graph, std::span<const Dims> input_strides = {});

}  // namespace tw::planner
