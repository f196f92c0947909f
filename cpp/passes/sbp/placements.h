// Where the values of a graph lie, as far as that follows from what is said of some of them.
#pragma once

#include <span>

#include "passes/sbp/flat.h"

namespace tw::passes {

// By the ids of values; null: a local value. Stages: (1) values with layouts say so themselves; (2) forwards,
// a node runs where its inputs lie, and what it is said to give; (3) backwards, what nothing has been said of
// lies where it is read. Control flow ties what goes in, round and out, so that (2) and (3) are repeated for
// it until nothing changes. Throws kPlacement where a node reads values of several placements, or local
// values decide in control flow on global ones; kNotImplemented where control flow has to do with several
// placements.
std::vector<sbp::PlacementRef> find_placements(const ir::Graph& graph, std::span<const FlatNode> nodes,
                                               size_t count);

}  // namespace tw::passes
