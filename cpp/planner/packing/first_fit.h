// The first-fit packer: takes items in an order and puts each into the lowest gap that is free during its
// whole life.
//
// Fixed items lie where they must before the others come. Takes O(n^2) steps: each item looks at those that
// lie below the gap it finds.
#pragma once

#include <cstdint>
#include <span>

#include "planner/packing/problem.h"

namespace tw::planner {

// rank[item]: its place in the order. Raises ValueError when fixed items overlap.
Layout first_fit(const Problem& problem, std::span<const int32_t> rank);

}  // namespace tw::planner
