// Where the elements of a part lie in the whole, for random numbers: each takes the words of its place there.
#pragma once

#include "base/error.h"
#include "cuda/common/walk.h"
#include "ops/random_part.h"

namespace tw::cuda {

struct PartIndex {
  int rank = 0;
  int64_t offset = 0;  // of the part's first element in the whole
  Divisor sizes[kWalkDims];
  int64_t strides[kWalkDims];  // of the whole, innermost first

  // The place in the whole of an element of the part, both in row-major order.
  TW_DEVICE int64_t in_whole(int64_t element) const {
    int64_t place = offset;
    auto rest = static_cast<uint32_t>(element);
    for (int d = 0; d < rank; d++) {
      uint32_t next = sizes[d].quotient(rest);
      place += static_cast<int64_t>(rest - next * sizes[d].divisor) * strides[d];
      rest = next;
    }
    return place;
  }
};

// `pairs`: of complex numbers, which are drawn as two elements.
inline PartIndex part_index(const ops::RandomPart& part, const Dims& sizes, bool pairs, const char* op) {
  auto dims = static_cast<int>(sizes.size());
  TW_CHECK(dims + pairs <= kWalkDims && numel(sizes) < kMostSteps / 2, kNotImplemented, op,
           ": parts of at most ", kWalkDims, " dims and ", kMostSteps / 2,
           " elements are drawn on CUDA, got ", sizes);
  PartIndex index;
  int64_t stride = 1;
  auto add = [&](int64_t size, int64_t first, int64_t whole) {
    index.sizes[index.rank] = Divisor(static_cast<uint32_t>(size));
    index.strides[index.rank++] = stride;
    index.offset += first * stride;
    stride *= whole;
  };
  if (pairs) add(2, 0, 2);
  for (int d = dims - 1; d >= 0; d--) {
    auto dim = static_cast<size_t>(d);
    add(sizes[dim], ops::first_index(part, dim), ops::whole_size(part, dim));
  }
  return index;
}

}  // namespace tw::cuda
