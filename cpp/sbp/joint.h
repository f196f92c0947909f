// Several placements as one.
#pragma once

#include <span>

#include "sbp/placement.h"

namespace tw::sbp {

// Whether each rank of `other` is one of `placement`.
bool covers(const Placement& placement, const Placement& other);
// The placement that covers all of these, at least one: one of them, the first that does, else a line of all
// their ranks, ascending. Throws kPlacement where they are of unlike devices.
PlacementRef joint_placement(std::span<const PlacementRef> placements);

}  // namespace tw::sbp
