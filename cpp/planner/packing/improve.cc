#include "planner/packing/improve.h"

#include <utility>

#include "planner/packing/forward.h"

namespace tw::planner {

namespace {

constexpr int64_t kPatience = 100;  // tries without success before the best order is taken up again

}  // namespace

Improved improve(const Problem& problem, SkylinePacker& packer, Improved start, int64_t goal, int64_t work) {
  Improved best = std::move(start);
  Improved now = best;
  Random random(1);
  int64_t since_best = 0;
  for (const int64_t end = packer.work() + work; packer.work() < end && best.layout.peak > goal;) {
    move_forward(now.rank, random,
                 [&](size_t i) { return now.layout.offsets[i] + problem.items[i].size > goal; });
    now.layout = packer.pack(now.rank);
    if (now.layout.peak < best.layout.peak) {
      best = now;
      since_best = 0;
    } else if (++since_best % kPatience == 0) {
      now = best;
    }
  }
  return best;
}

}  // namespace tw::planner
