// Placements and layouts to try boxing on.
#pragma once

#include <vector>

#include "base/error.h"
#include "sbp/layout.h"

namespace tw::sbp {

inline PlacementRef mesh(const Dims& shape, int64_t first = 0) {
  std::vector<int64_t> ranks(numel(shape));
  for (size_t i = 0; i < ranks.size(); i++) ranks[i] = first + static_cast<int64_t>(i);
  return placement("cpu", shape, ranks);
}

inline PlacementRef line(std::vector<int64_t> ranks) {
  return placement("cpu", {static_cast<int64_t>(ranks.size())}, ranks);
}

// Every nd-SBP of the mesh that fits the sizes.
inline std::vector<LayoutRef> layouts(const PlacementRef& where, const Dims& sizes, const NdSbp& choices) {
  std::vector<NdSbp> all = {{}};
  for (int64_t axis = 0; axis < where->axes(); axis++) {
    std::vector<NdSbp> longer;
    for (const NdSbp& sbp : all)
      for (const Sbp& choice : choices) {
        longer.push_back(sbp);
        longer.back().push_back(choice);
      }
    all = std::move(longer);
  }
  std::vector<LayoutRef> result;
  for (const NdSbp& sbp : all) {
    LayoutRef made = layout(where, sbp);
    try {
      check_layout(*made, sizes, "test");
    } catch (const Error&) {
      continue;  // stated sizes that do not fit
    }
    result.push_back(std::move(made));
  }
  return result;
}

inline NdSbp every_sbp(const Dims& sizes, int64_t parts) {
  NdSbp result = {broadcast(),
                  split(0),
                  split(1),
                  split(0, 4),
                  partial(),
                  partial(ReduceOp::kMax),
                  partial(ReduceOp::kMin)};
  std::vector<int64_t> stated(parts);
  stated[parts - 1] = sizes[0];  // all to the last
  if (sizes[0] > 1 && parts > 1) stated = {1}, stated.resize(parts - 1), stated.push_back(sizes[0] - 1);
  result.push_back(split_as(0, stated));
  return result;
}

// Calls check(from, to) on all ordered pairs of layouts, or every `stride`-th of them; returns how many.
template <class Check>
int64_t for_pairs(const PlacementRef& a, const PlacementRef& b, const Dims& sizes, int64_t stride,
                  const Check& check) {
  std::vector<LayoutRef> from = layouts(a, sizes, every_sbp(sizes, a->shape[0]));
  std::vector<LayoutRef> to = layouts(b, sizes, every_sbp(sizes, b->shape[0]));
  int64_t next = 0, checked = 0;
  for (const LayoutRef& f : from)
    for (const LayoutRef& t : to)
      if (next++ % stride == 0) {
        check(f, t);
        checked++;
      }
  return checked;
}

}  // namespace tw::sbp
