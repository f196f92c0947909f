// Runs a plan without its kernels, in simulated time: for the time line of machines that one does not have,
// and to find out why a plan stalls.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "plan/plan.h"

namespace tw::plan {

struct SimulateOptions {
  int steps = 1;
  int steps_in_flight = 1;
  // Seconds that a launch takes in a firing (counted over all steps); none: 1 second each.
  std::function<double(int actor, int launch, int64_t firing)> seconds;
};

struct Firing {
  int actor;
  int64_t firing;
  double begin, end;  // seconds
};

struct Timeline {
  std::vector<Firing> firings;  // in the order of their ends
  double seconds = 0;           // until the last step was done
  int steps_done = 0;
  std::string stall;  // who waits for what, when not all steps were done
};

// A stream runs one firing at a time, the oldest step first; host inputs run ahead. The same plan and options
// give the same time line. The plan must have passed check_structure; one that deadlocks ends with `stall`.
Timeline simulate(const Plan& plan, const SimulateOptions& options);

}  // namespace tw::plan
