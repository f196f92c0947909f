#include "planner/packing/restart.h"

#include <algorithm>
#include <vector>

#include "planner/packing/forward.h"
#include "planner/packing/search.h"

namespace tw::planner {

namespace {

// A try gives up after so many failures and so many per item; every so many tries of a lane one is so much
// longer.
constexpr int64_t kFailures = 300, kFailuresPerItem = 2, kLongEvery = 32, kLong = 16;
constexpr int64_t kHalvings = 6;  // what is left after the goal was out of reach is spent in so many parts

// An order that learns, and what the search looks at first.
struct Lane {
  std::vector<int32_t> rank;
  Focus focus;
  int64_t tries = 0;
  int64_t work = 0;
};

class Restarts {
 public:
  explicit Restarts(const Problem& problem)
      : search_(problem), count_(static_cast<int64_t>(problem.items.size())) {
    for (const Order order : {Order::kLifetime, Order::kArea, Order::kBegin}) {
      lanes_.push_back({ranks_by(problem, order), Focus::kLowest});
    }
    lanes_.push_back({ranks_by(problem, Order::kLifetime), Focus::kTightest});
  }

  Verdict fits(int64_t capacity, int64_t work) {
    for (const int64_t end = search_.work() + work;;) {
      Lane& lane = *std::ranges::min_element(lanes_, {}, &Lane::work);
      const bool is_long = ++lane.tries % kLongEvery == 0;
      const int64_t failures = (kFailures + kFailuresPerItem * count_) * (is_long ? kLong : 1);
      const int64_t before = search_.work();
      const Verdict verdict = search_.run(capacity, lane.rank, lane.focus, failures, end - before);
      lane.work += search_.work() - before;
      if (verdict != Verdict::kGaveUp) return verdict;
      learn(lane);
      if (search_.work() >= end) return verdict;
    }
  }
  const Search& search() const { return search_; }

 private:
  void learn(Lane& lane) {
    const std::vector<int64_t>& blame = search_.blame();
    const int64_t most = std::ranges::max(blame);
    move_forward(lane.rank, random_, [&](size_t i) { return 2 * blame[i] > most; });
  }

  Search search_;
  int64_t count_;
  std::vector<Lane> lanes_;
  Random random_{1};
};

}  // namespace

bool tighten(const Problem& problem, Layout& best, int64_t goal, int64_t work, double goal_share) {
  const int64_t before = best.peak;
  Restarts restarts(problem);
  int64_t open = goal;  // every lower capacity is out of reach, or was given up
  int64_t capacity = goal, share = static_cast<int64_t>(static_cast<double>(work) * goal_share);
  const int64_t later_share = (work - share) / kHalvings + 1;
  while (open < best.peak && restarts.search().work() < work) {
    if (restarts.fits(capacity, share) == Verdict::kFits) {
      best = restarts.search().layout();
    } else {
      open = capacity + 1;
    }
    share = later_share;
    capacity = open + (best.peak - 1 - open) / 2;
  }
  return best.peak < before;
}

}  // namespace tw::planner
