// Where the values of a graph lie, as far as that follows from what is said of some of them.
#pragma once

#include <span>
#include <unordered_map>

#include "passes/sbp/flat.h"

namespace tw::passes {

struct Placements {
  std::vector<sbp::PlacementRef> of_values;  // by their ids; null: a local value
  // Of control flow with global values: all ranks that have something to do in its regions. What decides is
  // to be known to them.
  std::unordered_map<const ir::Node*, sbp::PlacementRef> deciding;
};

// Stages: (1) values with layouts say so themselves; (2) forwards, a node runs where its inputs lie, and what
// it is said to give; (3) backwards, what nothing has been said of lies where it is read. Control flow ties
// what goes in, round and out, each value by itself, so that (2) and (3) are repeated for it until nothing
// changes; (4) then it is known who takes part in control flow, and what decides by numbers alone lies there.
// Where regions draw random numbers all ranks take part, since all count the draws. Throws kPlacement where a
// node reads values of several placements, or local values decide in control flow on global ones.
Placements find_placements(const ir::Graph& graph, std::span<const FlatNode> nodes, size_t count);

}  // namespace tw::passes
