#include "planner/packing/orders.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.h"

namespace tw::planner {

namespace {

std::vector<int32_t> ranks_of(const std::vector<int32_t>& sorted) {
  std::vector<int32_t> rank(sorted.size());
  for (size_t i = 0; i < sorted.size(); ++i) rank[sorted[i]] = static_cast<int32_t>(i);
  return rank;
}

// The lowest pair comes first.
std::pair<double, int64_t> key_of(const Item& item, Order order) {
  switch (order) {
    case Order::kLifetime:
      return {-item.width(), -item.size};
    case Order::kArea:
      return {-static_cast<double>(item.size) * item.width(), 0};
    case Order::kSize:
      return {-static_cast<double>(item.size), -item.width()};
    case Order::kBegin:
      return {item.begin, -item.end};
    case Order::kEnd:
      return {-item.end, item.begin};
  }
  TW_FAIL(kInternal, "key_of: no such order");
}

}  // namespace

const char* name_of(Order order) {
  constexpr const char* kNames[] = {"lifetime", "area", "size", "begin", "end"};
  return kNames[static_cast<size_t>(order)];
}

std::vector<int32_t> ranks_by(const Problem& problem, Order order) {
  std::vector<std::pair<double, int64_t>> keys;
  for (const Item& item : problem.items) keys.push_back(key_of(item, order));
  std::vector<int32_t> sorted(keys.size());
  std::iota(sorted.begin(), sorted.end(), 0);
  std::ranges::stable_sort(sorted, {}, [&](int32_t i) { return keys[i]; });
  return ranks_of(sorted);
}

std::vector<int32_t> ranks_by_keys(std::span<const int64_t> keys) {
  std::vector<int32_t> sorted(keys.size());
  std::iota(sorted.begin(), sorted.end(), 0);
  std::ranges::stable_sort(sorted, {}, [&](int32_t i) { return keys[i]; });
  return ranks_of(sorted);
}

}  // namespace tw::planner
