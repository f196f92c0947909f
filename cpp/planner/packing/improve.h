// The improver: learns from a skyline which items should have come earlier.
//
//   1. build the skyline in some order
//   2. the items that reach over the goal move forward by a part of the order, the others drift back a
//   little, by
//      amounts that a fixed sequence of random numbers gives
//   3. build the skyline again; from time to time go on from the best order so far
//
// The idea is Joslin and Clements' "squeaky wheel" optimization (1999): whoever complains is served first.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/packing/skyline.h"

namespace tw::planner {

struct Improved {
  Layout layout;
  std::vector<int32_t> rank;  // the order that gave it
};

// Improves on `start` until the peak is at most `goal` or the packer has done `work` more work.
Improved improve(const Problem& problem, SkylinePacker& packer, Improved start, int64_t goal, int64_t work);

}  // namespace tw::planner
