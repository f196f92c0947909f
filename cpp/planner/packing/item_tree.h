// Which item that is not placed yet fits between two sections, and comes first in an order?
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "planner/packing/problem.h"

namespace tw::planner {

// A k-d tree over (begin, end). Each node knows the least rank below it and which begins and ends it spans,
// so that a question skips what cannot fit, what cannot come first, and takes whole what fits whole. The tree
// is built once; the order may change between uses.
class ItemTree {
 public:
  explicit ItemTree(const Problem& problem);

  // Puts all items back; rank[item] is its place in the order.
  void reset(std::span<const int32_t> rank);
  // The first item in the order that lies within sections [begin, end), or -1.
  int32_t first_within(int32_t begin, int32_t end);
  void remove(int32_t item);

  int64_t work() const { return work_; }  // nodes looked at since the beginning

 private:
  static constexpr int32_t kNone = std::numeric_limits<int32_t>::max();
  struct Node {
    int32_t least = kNone;  // rank
    int32_t min_begin = 0, max_begin = 0, min_end = 0, max_end = 0;
  };

  void build(size_t node, size_t low, size_t high, bool by_begin);
  void search(size_t node);

  std::span<const Item> items_;
  size_t leaves_;                               // a power of two; leaf i is node leaves_ + i
  std::vector<Node> nodes_;                     // node i has children 2i and 2i + 1
  std::vector<int32_t> sorted_;                 // items in the order of the leaves
  std::vector<int32_t> leaf_of_;                // of an item
  std::vector<int32_t> at_rank_;                // the item
  int32_t begin_ = 0, end_ = 0, best_ = kNone;  // the question
  int64_t work_ = 0;
};

}  // namespace tw::planner
