// Orders in which greedy packers take items. Ties go to the item with the lower index, so that every order is
// total.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "planner/packing/problem.h"

namespace tw::planner {

enum class Order : uint8_t {
  kLifetime,  // the longest first, of equal ones the largest
  kArea,      // size times lifetime
  kSize,
  kBegin,  // the first to begin first, of those the last to end
  kEnd,    // the last to end first, of those the first to begin
};
inline constexpr Order kOrders[] = {Order::kLifetime, Order::kEnd, Order::kBegin, Order::kArea, Order::kSize};

const char* name_of(Order order);
std::vector<int32_t> ranks_by(const Problem& problem, Order order);  // rank[item]
// rank[item] where items are ordered by their keys, the lowest first.
std::vector<int32_t> ranks_by_keys(std::span<const int64_t> keys);

}  // namespace tw::planner
