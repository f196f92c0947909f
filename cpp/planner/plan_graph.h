// graph → plan: order, places, arena, actors.
#pragma once

#include <span>

#include "ir/graph.h"
#include "plan/plan.h"
#include "planner/memory.h"

namespace tw::planner {

inline constexpr int64_t kArenaAlignment = 64;  // of every buffer in the arena

// The order that needs the least memory of those that are tried, and what lies where in it.
struct Ordered {
  Order order;
  MemoryLayout layout;
};
Ordered choose_order(ir::Graph& graph, std::span<const Dims> input_strides = {},
                     const RegionNeeds& regions = {});

// The same graph gives the same plan, byte for byte. `graph` gets its values numbered.
// Inputs lie in these strides, without gaps; in row-major order where none are given. Of a graph with
// boxings, the devices are those of the ranks in it, counted from `first_rank`, the first of this process;
// each has an arena.
plan::Plan plan_graph(ir::Graph& graph, std::span<const Dims> input_strides = {}, int64_t first_rank = 0);
// The same for a region of `root`.
plan::Plan plan_graph(ir::Graph& graph, const ir::Graph& root, std::span<const Dims> input_strides,
                      int64_t first_rank = 0);

}  // namespace tw::planner
