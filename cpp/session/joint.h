// A function whose results are differentiated outside: one trace holds its forward and its backward, two
// programs run them.
//
//   forward:  results and *saved* values, from the arguments
//   backward: gradients, from saved values, arguments and the gradients of the results
#pragma once

#include <memory>
#include <vector>

#include "ir/graph.h"

namespace tw::session {

// What an input of the backward graph is.
struct BackwardInput {
  enum Kind { kArgument, kSaved, kSeed } kind;
  int index;  // of the argument, of the output of the forward graph, of the differentiated result
};

struct Split {
  std::unique_ptr<ir::Graph> backward;
  std::vector<BackwardInput> inputs;      // in the order of backward->inputs
  std::vector<int> variables, constants;  // behind those of the backward graph: numbers in the forward graph
};

// Takes the nodes that only `gradients` need out of `graph`, whose inputs from `first_seed` on are the
// gradients of results; what they read of the rest becomes further outputs of `graph`. Views and literals are
// made again instead, and so are a few pointwise ops.
Split split_joint(ir::Graph& graph, const std::vector<ir::Value>& gradients, size_t first_seed);

}  // namespace tw::session
