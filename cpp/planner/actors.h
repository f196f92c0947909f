// Which steps of a layout run as one actor, and what each actor waits for.
//
// Without crossings, and with one stream for all devices, all steps are one chain. With crossings a chain
// ends where one begins, and where what comes next reads what one has made:
//
//   steps        0 1 2 | x | 3 4 | 5 6      where x is in flight up to step 5
//   chain 0      0 1 2
//   crossing           x                    after chain 0
//   chain 1                  3 4            after chain 0
//   chain 2                        5 6      after chain 1 and the crossing
//
// With a stream for each device, steps that work in the memory of several are *meetings*, actors of their
// own; between them each device has chains of its own, in its order. All that can fail comes before any
// device commits.
//
// The next step begins when the last actor has ended: arenas and registers are as they were before.
#pragma once

#include <vector>

#include "planner/memory.h"

namespace tw::planner {

struct ActorSteps {
  std::vector<size_t> steps;  // none in a chain that only waits
  bool crossing = false;
  int device = 0;          // on whose stream it runs
  std::vector<int> after;  // actors, by number
};

// In an order in which they can run; where there are several, the first and the last are chains.
std::vector<ActorSteps> cut_actors(const MemoryLayout& layout, bool stream_a_device);

// Whether devices gain by running beside each other: their steps must last longer than it takes to tell a
// thread of the end of another's.
bool gains_by_streams(const MemoryLayout& layout);

}  // namespace tw::planner
