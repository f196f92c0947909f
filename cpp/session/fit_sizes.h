// Finds how the attributes of a graph follow from sizes: the same call is traced at several sizes, and a
// formula is looked for that gives each attribute that varies in all of them.
#pragma once

#include <memory>
#include <vector>

#include "session/sizes.h"

namespace tw::session {

// A trace of the call, and the values that the symbols had in it.
struct SizedGraph {
  std::unique_ptr<ir::Graph> graph;
  std::vector<int64_t> values;
};

// Rules for `traces[0]`, whose attributes and shapes in the others they give. Throws kValue where the traces
// differ in more than sizes, or an attribute follows no formula that is tried: linear in a symbol or in a
// size of the node's inputs, a multiple of a product of up to three of them, a sum of two, a quotient rounded
// down; for floats also reciprocals and square roots of products.
std::vector<SizeRule> fit_sizes(const std::vector<SizedGraph>& traces,
                                const std::vector<std::string>& symbol_names);

}  // namespace tw::session
