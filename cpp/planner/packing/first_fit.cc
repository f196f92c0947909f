#include "planner/packing/first_fit.h"

#include <algorithm>
#include <vector>

#include "base/error.h"

namespace tw::planner {

namespace {

struct Placed {
  int64_t bottom, top;
  int32_t begin, end;
};

// The items that have a place, the lowest first.
class Pile {
 public:
  int64_t lowest_gap(const Item& item) const {
    int64_t bottom = 0;
    for (const Placed& other : placed_) {
      if (other.begin >= item.end || item.begin >= other.end) continue;
      if (other.bottom - bottom >= item.size) break;
      bottom = std::max(bottom, round_up(other.top, item.alignment));
    }
    return bottom;
  }
  void put(const Item& item, int64_t bottom) {
    const Placed placed{bottom, bottom + item.size, item.begin, item.end};
    placed_.insert(std::ranges::upper_bound(placed_, bottom, {}, &Placed::bottom), placed);
  }

 private:
  std::vector<Placed> placed_;
};

bool overlaps_in_memory(const Item& a, const Item& b) {
  return a.overlaps(b) && a.fixed < b.fixed + b.size && b.fixed < a.fixed + a.size;
}

}  // namespace

Layout first_fit(const Problem& problem, std::span<const int32_t> rank) {
  const std::vector<Item>& items = problem.items;
  Layout layout{std::vector<int64_t>(items.size(), -1), 0};
  std::vector<int32_t> order(items.size());
  for (size_t i = 0; i < items.size(); ++i) order[rank[i]] = static_cast<int32_t>(i);
  std::ranges::stable_partition(order, [&](int32_t i) { return items[i].fixed >= 0; });
  Pile pile;
  for (const int32_t i : order) {
    const Item& item = items[i];
    const int64_t bottom = item.fixed >= 0 ? item.fixed : pile.lowest_gap(item);
    for (size_t j = 0; item.fixed >= 0 && j < items.size(); ++j) {
      const bool clash = layout.offsets[j] >= 0 && overlaps_in_memory(item, items[j]);
      TW_CHECK(!clash, kValue, "pack: blocks ", items[j].block, " and ", item.block,
               " are fixed to places that overlap");
    }
    pile.put(item, bottom);
    layout.offsets[i] = bottom;
    layout.peak = std::max(layout.peak, bottom + item.size);
  }
  return layout;
}

}  // namespace tw::planner
