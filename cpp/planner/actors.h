// Which steps of a layout run as one actor, and what each actor waits for.
//
// Without crossings all steps are one chain. With them a chain ends where a crossing begins, and where what
// comes next reads what one has made:
//
//   steps        0 1 2 | x | 3 4 | 5 6      where x is in flight up to step 5
//   chain 0      0 1 2
//   crossing           x                    after chain 0
//   chain 1                  3 4            after chain 0
//   chain 2                        5 6      after chain 1 and the crossing
//
// The next step begins when the last chain has ended: arena and registers are as they were before.
#pragma once

#include <vector>

#include "planner/memory.h"

namespace tw::planner {

struct ActorSteps {
  size_t begin = 0, end = 0;  // steps; none in a chain that only waits
  bool crossing = false;
  std::vector<int> after;  // actors, by number
};

// In an order in which they can run. The first and the last are chains.
std::vector<ActorSteps> cut_actors(const MemoryLayout& layout);

}  // namespace tw::planner
