// How items change their places in an order after a packing that failed: those to blame come earlier, the
// others drift.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/packing/orders.h"
#include "planner/packing/random.h"

namespace tw::planner {

// rank[item] is its place in the order; blamed(item) says whether it moves.
template <class Blamed>
void move_forward(std::vector<int32_t>& rank, Random& random, Blamed blamed) {
  // In thousandths of the order's length: how far, the part of it that is chance, and how far others drift.
  constexpr int64_t kForward = 100, kChance = 300, kDrift = 20;
  const auto count = static_cast<int64_t>(rank.size());
  std::vector<int64_t> keys(rank.size());
  for (size_t i = 0; i < rank.size(); ++i) {
    keys[i] = 1000 * int64_t{rank[i]};
    keys[i] += blamed(i) ? -count * (kForward + random.below(kChance)) : count * random.below(kDrift);
  }
  rank = ranks_by_keys(keys);
}

}  // namespace tw::planner
