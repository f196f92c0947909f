// The largest or smallest element and where it stands: max, min, argmax, argmin.
#pragma once

#include <cstdint>

#include "device/kernel.h"

namespace tw::device {

inline constexpr int64_t kAllDims = -1;

// Over one dim, or over all of them (the index then counts in row-major order). A NaN is more extreme than
// any number; among equals the first stands. `values` (in's dtype) and `indices` (int64) keep the reduced dim
// with size 1, or lack it; either may be null. All dtypes but the complex ones; the reduced dims must not be
// empty. The results do not depend on the number of threads. Bytes read: the input once, from memory (again
// from the cache to find the index).
void arg_reduce(const Operand& in, const Operand* values, const Operand* indices, int64_t dim, bool largest);

}  // namespace tw::device
