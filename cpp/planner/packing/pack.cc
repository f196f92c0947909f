// Which packers are tried, and in which order.
#include <algorithm>
#include <utility>

#include "base/cat.h"
#include "planner/packing/first_fit.h"
#include "planner/packing/improve.h"
#include "planner/packing/orders.h"
#include "planner/packing/problem.h"
#include "planner/packing/restart.h"
#include "planner/packing/skyline.h"

namespace tw::planner {

namespace {

// What stages 3 and 4 may spend, with Effort::kFast and with Effort::kSearch.
constexpr double kImproveWork[] = {5e5, 5e5};      // steps of some 25 ns
constexpr double kSearchWork[] = {5e6, 1.5e10};    // steps of some 2 ns
constexpr size_t kMostForSearch[] = {1000, 4000};  // items: it looks at all pairs that meet
constexpr double kGoalShare[] = {0.25, 0.75};      // of the search's work
constexpr size_t kMostForFirstFit = 500;           // it takes quadratic time

struct Solved {
  Layout layout;
  std::string packer;
};

void keep_lower(Solved& best, Layout layout, std::string packer) {
  if (!best.packer.empty() && layout.peak >= best.layout.peak) return;
  best = {std::move(layout), std::move(packer)};
}

// Fixed items leave holes that a skyline cannot see.
Solved solve_fixed(const Problem& problem, int64_t goal) {
  Solved best;
  for (const Order order : kOrders) {
    keep_lower(best, first_fit(problem, ranks_by(problem, order)), cat("first fit by ", name_of(order)));
    if (best.layout.peak <= goal) break;
  }
  return best;
}

Solved solve_free(const Problem& problem, int64_t goal, const PackOptions& options) {
  Solved best;
  SkylinePacker packer(problem);
  Improved start;
  for (const Order order : kOrders) {
    const std::vector<int32_t> rank = ranks_by(problem, order);
    const Layout& layout = packer.pack(rank);
    if (start.rank.empty() || layout.peak < start.layout.peak) start = {layout, rank};
    keep_lower(best, layout, cat("skyline by ", name_of(order)));
    if (best.layout.peak <= goal) return best;
    if (problem.items.size() > kMostForFirstFit) continue;
    keep_lower(best, first_fit(problem, rank), cat("first fit by ", name_of(order)));
    if (best.layout.peak <= goal) return best;
  }
  const size_t effort = options.effort == Effort::kSearch;
  const auto work = static_cast<int64_t>(options.budget * kImproveWork[effort]) - packer.work();
  keep_lower(best, improve(problem, packer, std::move(start), goal, work).layout, "improved skyline");
  if (best.layout.peak <= goal || problem.items.size() > kMostForSearch[effort]) return best;
  if (tighten(problem, best.layout, goal, static_cast<int64_t>(options.budget * kSearchWork[effort]),
              kGoalShare[effort])) {
    best.packer = "search";
  }
  return best;
}

Solved solve(const Problem& problem, int64_t goal, const PackOptions& options) {
  if (options.effort == Effort::kGreedy) {
    return {first_fit(problem, ranks_by(problem, Order::kSize)), "first fit by size"};
  }
  if (problem.has_fixed) return solve_fixed(problem, goal);
  return solve_free(problem, goal, options);
}

}  // namespace

Packing pack(std::span<const Block> blocks, const PackOptions& options) {
  const Reduced reduced = reduce(blocks);
  Packing packing{std::vector<int64_t>(blocks.size(), 0), 0, 0, "nothing to pack"};
  int64_t peak = -1;
  for (const Problem& problem : reduced.problems) {
    packing.lower_bound_bytes = std::max(packing.lower_bound_bytes, problem.lower_bound * reduced.granule);
    const int64_t goal =
        std::max({peak, packing.lower_bound_bytes / reduced.granule, options.enough_bytes / reduced.granule});
    Solved solved = solve(problem, goal, options);
    for (size_t i = 0; i < problem.items.size(); ++i) {
      packing.offsets[problem.items[i].block] = solved.layout.offsets[i] * reduced.granule;
    }
    if (solved.layout.peak > peak) packing.packer = std::move(solved.packer);
    peak = std::max(peak, solved.layout.peak);
  }
  packing.peak_bytes = std::max(peak, int64_t{0}) * reduced.granule;
  const std::vector<Anchor> anchors = anchors_of(blocks);
  for (size_t i = 0; i < blocks.size(); ++i) {
    packing.offsets[i] = packing.offsets[anchors[i].block] + anchors[i].delta;
    if (blocks[i].fixed_offset >= 0) packing.offsets[i] = blocks[i].fixed_offset;  // of size 0
  }
  return packing;
}

}  // namespace tw::planner
