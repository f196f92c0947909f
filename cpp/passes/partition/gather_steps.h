// Steps of optimizers, and what else updates lists of tensors element by element, run on many tensors at
// once. In a graph of global tensors each is recorded for one tensor, since each may lie in its own way. Once
// the graph is cut, those of a rank come together again:
//
//   %4 = sgd_step([%0], [%2], [], ...) : float32[8]
//   %5 = sgd_step([%1], [%3], [], ...) : float32[4]
// →
//   %4, %5 = sgd_step([%0, %1], [%2, %3], [], ...) : float32[8], float32[4]
//
// They come to the place of the last of them. Between two there is nobody who reads what the first has made,
// but that what all reduce into (found_inf) goes from one to the next. Steps that have waited for the same
// communications come together, so that none waits for a later one.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace tw::passes {

// Where a node of a process's graph belongs.
struct NodePlace {
  size_t rank = 0;       // which of the process's
  bool crosses = false;  // a boxing in which other processes take part
};

// `places`: of each of the graph's nodes.
void gather_steps(ir::Graph& graph, const std::vector<NodePlace>& places);

}  // namespace tw::passes
