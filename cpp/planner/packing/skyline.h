// The skyline packer: builds from the ground up, always at the lowest place.
//
//   1. the skyline, how high each section is filled, begins as one flat stretch at 0
//   2. take the lowest stretch (of equal ones the leftmost). Of the items whose lifetimes lie within it, the
//      first in the order is put there; what is left of the stretch stays as low as it was
//   3. if no item fits, the stretch is lost up to the lower of its neighbours and joins it
//
// After Sekiyama et al., "Profile-guided memory optimization for deep neural networks" (2018), and Burke,
// Kendall and Whitwell's best fit for strips of stock (2004), but with any order: which order is good differs
// from problem to problem, and improve.h changes it. Ordered by lifetime, longest first, nested lifetimes are
// packed perfectly. O(n log n) for n items, as far as the tree finds its answers along one path.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "planner/packing/item_tree.h"
#include "planner/packing/problem.h"

namespace tw::planner {

class SkylinePacker {
 public:
  explicit SkylinePacker(const Problem& problem);

  // rank[item]: its place in the order. The result is valid until the next call. Items may not be fixed.
  const Layout& pack(std::span<const int32_t> rank);
  int64_t work() const { return tree_.work() + steps_; }

 private:
  struct Stretch {
    int32_t begin = 0, end = 0;
    int64_t height = 0;
    int32_t left = -1, right = -1;  // neighbours
    bool gone = false;
  };
  struct Lowest {
    int64_t height;
    int32_t begin;
    int32_t stretch;
  };

  int32_t add(const Stretch& stretch);
  int32_t push(int32_t stretch);
  static bool higher(const Lowest& a, const Lowest& b);
  void place(int32_t at, int32_t item);
  void raise(int32_t at);
  int32_t join(int32_t left, int32_t right);

  const Problem& problem_;
  ItemTree tree_;
  Layout layout_;
  std::vector<Stretch> stretches_;
  std::vector<Lowest> heap_;
  int64_t steps_ = 0;
};

}  // namespace tw::planner
