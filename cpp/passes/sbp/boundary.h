// The layouts in which values go into regions of control flow, and come out.
#pragma once

#include "passes/sbp/flat.h"
#include "passes/sbp/search.h"

namespace tw::passes {

using Layouts = std::vector<const sbp::Layout*>;

const sbp::Layout* broadcast_on(const sbp::PlacementRef& placement);

// Of an `enter` or an `exit`: those in which its inputs may come, and whole; of sums that loops carry,
// pending ones too, since what is added to a pending sum need not be reduced; of what loops read in every
// iteration, all balanced ones. `layouts`: of its inputs. `carried`: the one that has been decided; null:
// none.
std::vector<Candidate> boundary_candidates(const FlatNode& flat, const std::vector<Layouts>& layouts,
                                           const sbp::Layout* carried, const sbp::PlacementRef& placement);

}  // namespace tw::passes
