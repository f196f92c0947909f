// Some dims of a tensor, walked by one number in row-major order; neighbours that memory allows are merged.
#pragma once

#include <span>

#include "cuda/common/walk.h"

namespace tw::cuda {

struct StridedDims {
  int64_t count = 1;
  int rank = 0;
  Divisor sizes[kWalkDims];    // innermost first
  int64_t strides[kWalkDims];  // bytes

  TW_DEVICE int64_t offset(int64_t i) const {
    if (rank == 1) return i * strides[0];
    int64_t at = 0;
    auto rest = static_cast<uint32_t>(i);
    for (int d = 0; d < rank; d++) {
      uint32_t next = d + 1 < rank ? sizes[d].quotient(rest) : 0;
      at += (rest - next * sizes[d].divisor) * strides[d];
      rest = next;
    }
    return at;
  }
};

// Of the sizes and the strides in bytes, outermost first; throws kNotImplemented for more than a walk has.
StridedDims strided_dims(std::span<const int64_t> sizes, std::span<const int64_t> strides, const char* op);

}  // namespace tw::cuda
