// What the devices of a layout hold, by rectangle rather than by device.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "sbp/boxing.h"

namespace tw::sbp {

// A rectangle and who holds it: groups[g] are the ranks that hold the g-th contribution (row-major over the P
// axes), one a replica (over the B axes). Without P there is one group.
struct Cell {
  Box box;
  std::vector<Ranks> groups;
};

// A layout, or the slice of it where the coordinate of some axes is fixed.
struct Cells {
  std::vector<Cell> cells;               // those that are not empty, disjoint
  SmallVector<Fold, 2> pending;          // the P axes that are not fixed, outermost first
  SmallVector<int64_t, 4> pending_axes;  // which they are

  struct Held {
    int64_t cell = -1;
    int64_t group = 0;
  };
  // Which cell and contribution a rank holds.
  std::unordered_map<int64_t, Held> held;

  int64_t groups() const;  // a cell; the product of the pending counts
};

// coordinates[axis] is -1 where the axis is not fixed.
Cells cells_of(const Layout& layout, const Dims& sizes, const Dims& coordinates);

inline bool is_empty(const Box& box) {
  for (int64_t size : box.sizes)
    if (size == 0) return true;
  return false;
}
Box intersection(const Box& a, const Box& b);  // of size 0 somewhere when they do not meet

}  // namespace tw::sbp
