#include "planner/packing/item_tree.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <tuple>

namespace tw::planner {

ItemTree::ItemTree(const Problem& problem)
    : items_(problem.items),
      leaves_(std::bit_ceil(problem.items.size())),
      nodes_(2 * leaves_),
      sorted_(problem.items.size()),
      leaf_of_(problem.items.size()),
      at_rank_(problem.items.size()) {
  std::iota(sorted_.begin(), sorted_.end(), 0);
  build(1, 0, leaves_, true);
}

// Leaves [low, high) belong to the node; only those below items_.size() hold an item.
void ItemTree::build(size_t node, size_t low, size_t high, bool by_begin) {
  const size_t count = items_.size();
  if (low >= count) return;
  const auto first = sorted_.begin() + static_cast<ptrdiff_t>(low);
  const auto last = sorted_.begin() + static_cast<ptrdiff_t>(std::min(high, count));
  Node& n = nodes_[node];
  n.min_begin = n.min_end = kNone;
  n.max_begin = n.max_end = -1;
  for (auto i = first; i != last; ++i) {
    const Item& item = items_[*i];
    n.min_begin = std::min(n.min_begin, item.begin);
    n.max_begin = std::max(n.max_begin, item.begin);
    n.min_end = std::min(n.min_end, item.end);
    n.max_end = std::max(n.max_end, item.end);
  }
  if (high - low == 1) {
    leaf_of_[sorted_[low]] = static_cast<int32_t>(node);
    return;
  }
  const size_t middle = (low + high) / 2;
  if (middle < count) {
    std::nth_element(first, sorted_.begin() + static_cast<ptrdiff_t>(middle), last,
                     [&](int32_t a, int32_t b) {
                       const Item &x = items_[a], &y = items_[b];
                       return by_begin ? std::tie(x.begin, x.end, a) < std::tie(y.begin, y.end, b)
                                       : std::tie(x.end, x.begin, a) < std::tie(y.end, y.begin, b);
                     });
  }
  build(2 * node, low, middle, !by_begin);
  build(2 * node + 1, middle, high, !by_begin);
}

void ItemTree::reset(std::span<const int32_t> rank) {
  for (size_t item = 0; item < rank.size(); ++item) {
    at_rank_[rank[item]] = static_cast<int32_t>(item);
    nodes_[leaf_of_[item]].least = rank[item];
  }
  for (size_t node = leaves_ - 1; node > 0; --node) {
    nodes_[node].least = std::min(nodes_[2 * node].least, nodes_[2 * node + 1].least);
  }
  work_ += static_cast<int64_t>(leaves_);
}

void ItemTree::search(size_t node) {
  const Node& n = nodes_[node];
  if (n.least >= best_ || n.max_begin < begin_ || n.min_end > end_) return;
  ++work_;
  if (n.min_begin >= begin_ && n.max_end <= end_) {
    best_ = n.least;
    return;
  }
  if (node >= leaves_) return;
  const bool left_first = nodes_[2 * node].least < nodes_[2 * node + 1].least;
  search(2 * node + (left_first ? 0 : 1));
  search(2 * node + (left_first ? 1 : 0));
}

int32_t ItemTree::first_within(int32_t begin, int32_t end) {
  begin_ = begin;
  end_ = end;
  best_ = kNone;
  search(1);
  return best_ == kNone ? -1 : at_rank_[best_];
}

void ItemTree::remove(int32_t item) {
  size_t node = static_cast<size_t>(leaf_of_[item]);
  const int32_t rank = nodes_[node].least;
  nodes_[node].least = kNone;
  while ((node /= 2) > 0 && nodes_[node].least == rank) {
    nodes_[node].least = std::min(nodes_[2 * node].least, nodes_[2 * node + 1].least);
  }
}

}  // namespace tw::planner
