// What collectives take between machines when they go in two levels: within each machine first, so that every
// byte goes once to each machine that needs it. With H machines, L devices of a group on each, T bytes:
//   all_reduce      2 (H-1) T between machines, at once by L devices; one level sends L times as much
//   all_gather,     (H-1) T, where one level sends L times as much
//   reduce_scatter
#pragma once

#include <optional>

#include "sbp/boxing.h"

namespace tw::sbp {

struct LevelCost {
  double seconds = 0;
  int64_t far_bytes = 0;  // between machines
};

// Of a step over these axes; nothing where no machine holds several devices of a group that has others
// elsewhere.
std::optional<LevelCost> two_level_cost(const BoxingPlan& plan, StepKind kind,
                                        const std::vector<int64_t>& axes, const LinkModel& model);
// The positions of each group of devices that differ in these axes alone.
std::vector<std::vector<int64_t>> groups_of(const Placement& placement, const std::vector<int64_t>& axes);

}  // namespace tw::sbp
