// How elements that go to one place are reduced: for the kernels of CPU and CUDA.
#pragma once

#include <cstdint>

#include "base/formula.h"

namespace tw::ops {

// NaN wins.
template <class C>
TW_FORMULA C larger_of(C x, C y) {
  return y != y || y > x ? y : x;
}
template <class C>
TW_FORMULA C smaller_of(C x, C y) {
  return y != y || y < x ? y : x;
}

// Whole numbers round down.
TW_FORMULA int64_t mean_of_integers(int64_t total, int64_t count) {
  return total / count - (total % count < 0);
}

}  // namespace tw::ops
