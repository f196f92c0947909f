// Makes a graph fit a budget of memory by computing values twice.
#pragma once

#include <cstdint>
#include <span>

#include "ir/graph.h"

namespace tw::session {

// Repeats nodes (passes/memory/recompute.h) until the arena of its plan needs no more than `budget_bytes` at
// any time. What the graph computes stays the same to the last bit. The nodes end up in the order in which
// they run. False where the budget cannot be met; `least_bytes` says how close it came.
bool fit_memory(ir::Graph& graph, int64_t budget_bytes, std::span<const Dims> input_strides,
                int64_t* least_bytes);

// Repeats what takes next to no time, pointwise ops and normalisations, where that lowers the peak by a few
// percent at least; all together within a hundredth of the graph's estimated time. Leaves long graphs alone.
void recompute_cheap(ir::Graph& graph, std::span<const Dims> input_strides = {});

}  // namespace tw::session
