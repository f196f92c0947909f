// Where values belong, in sorted sequences and among bins: for the kernels of CPU and CUDA.
#pragma once

#include <cstdint>

#include "base/formula.h"

namespace tw::ops {

// The first of n places of a sorted sequence whose element at(i) is not below `value` (right: that is above
// it). NaN goes last.
template <class At, class V>
TW_FORMULA int64_t place_among(const At& at, int64_t n, V value, bool right) {
  int64_t low = 0, high = n;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    V x = at(middle);
    bool further = right ? !(x > value) : !(x >= value);
    if (further)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

// Which of `bins` equal parts of [low, high] a number falls into; -1: none.
TW_FORMULA int64_t bin_of(double x, double low, double high, int64_t bins) {
  if (!(x >= low && x <= high)) return -1;
  auto bin = static_cast<int64_t>((x - low) * static_cast<double>(bins) / (high - low));
  return bin < bins ? bin : bins - 1;
}

}  // namespace tw::ops
