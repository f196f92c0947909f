// The search as a packer: restarts that learn, and which capacity to ask for.
//
//   1. ask    whether everything fits below the goal. A try of the search may not fail often: a good order
//             finds a packing almost without turning back, a bad one cannot be saved by it. After a try, the
//             items that stood most often in a section that ended a branch move forward in the order, the
//             others drift, as in improve.h. A few lanes, each with an order of its own, share the work; now
//             and then one gets a long try
//   2. halve  if the goal is out of reach, half way between it and the best packing is asked for, and so on
//
// Blaming what fails and restarting is an old friend of constraint solvers (Boussemart et al., "Boosting
// systematic search by weighting constraints", 2004).
#pragma once

#include <cstdint>

#include "planner/packing/problem.h"

namespace tw::planner {

// Replaces `best` by a packing with a lower peak, as close to `goal` as `work` steps of the search allow, of
// which the goal itself gets `goal_share`. Returns whether it did.
bool tighten(const Problem& problem, Layout& best, int64_t goal, int64_t work, double goal_share);

}  // namespace tw::planner
