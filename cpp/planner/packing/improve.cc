#include "planner/packing/improve.h"

#include "planner/packing/orders.h"
#include "planner/packing/random.h"

namespace tw::planner {

namespace {

constexpr int64_t kScale = 1024;    // steps of a key between neighbours in the order
constexpr int64_t kPatience = 100;  // tries without success before the best order is taken up again

// In thousandths of the order's length: how far an item that reaches over the goal moves, and how much of
// that is chance; how far others drift.
constexpr int64_t kForward = 100, kForwardChance = 300, kDrift = 20;

std::vector<int64_t> keys_of(const std::vector<int32_t>& rank) {
  std::vector<int64_t> keys;
  for (const int32_t r : rank) keys.push_back(r * kScale);
  return keys;
}

}  // namespace

Improved improve(const Problem& problem, SkylinePacker& packer, Improved start, int64_t goal, int64_t work) {
  const auto count = static_cast<int64_t>(problem.items.size());
  const int64_t unit = count * kScale / 1000 + 1;
  Improved best = std::move(start);
  Improved now = best;
  Random random(static_cast<uint64_t>(count));
  std::vector<int64_t> keys = keys_of(now.rank);
  int64_t since_best = 0;
  for (const int64_t end = packer.work() + work; packer.work() < end && best.layout.peak > goal;) {
    for (size_t i = 0; i < keys.size(); ++i) {
      if (now.layout.offsets[i] + problem.items[i].size > goal) {
        keys[i] -= unit * (kForward + random.below(kForwardChance));
      } else {
        keys[i] += unit * random.below(kDrift);
      }
    }
    now.rank = ranks_by_keys(keys);
    now.layout = packer.pack(now.rank);
    if (now.layout.peak < best.layout.peak) {
      best = now;
      since_best = 0;
    } else if (++since_best % kPatience == 0) {
      now = best;
      keys = keys_of(best.rank);
    }
  }
  return best;
}

}  // namespace tw::planner
