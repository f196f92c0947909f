// Nodes of a search that stand at the same place of blocks that are alike, such as the layers of a network.
#pragma once

#include <vector>

#include "passes/sbp/search.h"

namespace tw::passes {

// A number for each node, from 0 on: the same for nodes of which nothing tells one from the other, nor the
// values and nodes around them up to a few steps away; -1 for a node that has no equal.
std::vector<int> repeats_of(const Problem& problem);

}  // namespace tw::passes
