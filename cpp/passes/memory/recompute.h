// Computes values of the forward part a second time, late, so that they need not be kept in between.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace tw::passes {

// `again[i]`: node i is repeated for those that read its results behind node `last`. Repeated nodes write no
// input. See recompute.cc; which nodes are worth it is decided elsewhere (session/fit_memory.h).
void recompute(ir::Graph& graph, const std::vector<char>& again, size_t last);

}  // namespace tw::passes
