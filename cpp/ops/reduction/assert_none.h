// What assert_none raises; for the kernels of CPU and CUDA.
#pragma once

#include "ops/reduction/reduction.h"

namespace tw::ops {

// `position` of the first element that holds, in row-major order.
[[noreturn]] inline void raise_assertion(const AssertAttrs& a, const Dims& sizes, int64_t position) {
  Dims at;
  for (int64_t stride : contiguous_strides(sizes)) {
    at.push_back(position / stride);
    position %= stride;
  }
  ErrorKind kind = a.error == "ValueError"   ? ErrorKind::kValue
                   : a.error == "IndexError" ? ErrorKind::kIndex
                                             : ErrorKind::kRuntime;
  throw_error(kind, cat(a.message, " (not so at ", at, ")"));
}

}  // namespace tw::ops
