#include "sbp/joint.h"

#include <algorithm>
#include <set>

#include "base/error.h"

namespace tw::sbp {

bool covers(const Placement& placement, const Placement& other) {
  return std::ranges::all_of(other.ranks, [&](int64_t rank) { return placement.position_of(rank) >= 0; });
}

PlacementRef joint_placement(std::span<const PlacementRef> placements) {
  std::set<int64_t> ranks;
  for (const PlacementRef& one : placements) {
    TW_CHECK(one->type == placements[0]->type, kPlacement,
             "placements on one type of device are wanted, got ", *placements[0], " and ", *one);
    if (std::ranges::all_of(placements, [&](const PlacementRef& other) { return covers(*one, *other); }))
      return one;
    ranks.insert(one->ranks.begin(), one->ranks.end());
  }
  const std::vector<int64_t> line(ranks.begin(), ranks.end());
  return placement(placements[0]->type, {static_cast<int64_t>(line.size())}, line);
}

}  // namespace tw::sbp
