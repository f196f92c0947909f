// How a kernel walks several strided operands of one shape: dims that memory allows are merged on the host,
// so that dense operands have one dim, and a broadcast row two.
//
// The innermost dim is walked in packs of elements. An operand moves by `strides` bytes a step; one that
// stands still within a pack (a number, or a column that is broadcast) is `fixed`.
#pragma once

#include <cstdint>

#include "cuda/common/platform.h"
#include "device/kernel.h"

namespace tw::cuda {

inline constexpr int kWalkDims = 8;
inline constexpr int64_t kMostSteps = int64_t{1} << 31;

// Division by a number that is known before the launch: a product and a shift, for numerators below 2^31.
struct Divisor {
  uint32_t divisor = 1, factor = 0, shift = 0;

  Divisor() = default;
  explicit Divisor(uint32_t by) : divisor(by) {
    while ((uint64_t{1} << shift) < by) shift++;
    factor = static_cast<uint32_t>(((uint64_t{1} << 32) * ((uint64_t{1} << shift) - by)) / by + 1);
  }
  TW_DEVICE uint32_t quotient(uint32_t n) const {
    return static_cast<uint32_t>((uint64_t{n} * factor >> 32) + n) >> shift;
  }
};

template <int kOperands>
struct Walk {
  char* data[kOperands];
  int64_t steps = 0;  // packs
  int tail = 0;       // elements of the last pack, where it is not full; 0: it is
  int rank = 0;
  unsigned fixed = 0;  // a bit an operand
  Divisor sizes[kWalkDims];
  int64_t strides[kWalkDims][kOperands];  // bytes

  TW_DEVICE void offsets(int64_t step, int64_t (&at)[kOperands]) const {
    if (rank == 1) {
      for (int o = 0; o < kOperands; o++) at[o] = step * strides[0][o];
      return;
    }
    for (int o = 0; o < kOperands; o++) at[o] = 0;
    auto rest = static_cast<uint32_t>(step);
    for (int d = 0; d < rank; d++) {
      uint32_t next = d + 1 < rank ? sizes[d].quotient(rest) : 0;
      int64_t index = rest - next * sizes[d].divisor;
      for (int o = 0; o < kOperands; o++) at[o] += index * strides[d][o];
      rest = next;
    }
  }
};

// The merged dims, innermost first, with the strides of every operand in bytes; host side.
struct MergedDims {
  SmallVector<int64_t, 8> sizes;
  SmallVector<SmallVector<int64_t, 8>, 8> strides;
};
// `shape` is what the operands broadcast to. Dims are put in the order of the first operand's strides.
MergedDims merge_dims(const Dims& shape, std::span<const device::Operand* const> operands);

// The walk of `dims` in packs of `pack` elements of `element_bytes` each; empty when they do not lie so: then
// the pack has to be 1. Throws kNotImplemented for more dims than a walk has.
bool fill_walk(const MergedDims& dims, int pack, std::span<const int> element_bytes, int64_t* steps,
               int* tail, int* rank, unsigned* fixed, Divisor* sizes, int64_t* strides,
               std::span<char* const> data, const char* op);

template <int kOperands>
bool make_walk(const MergedDims& dims, int pack, std::span<const int> element_bytes, const char* op,
               Walk<kOperands>* walk) {
  return fill_walk(dims, pack, element_bytes, &walk->steps, &walk->tail, &walk->rank, &walk->fixed,
                   walk->sizes, &walk->strides[0][0], std::span<char* const>(walk->data, kOperands), op);
}

}  // namespace tw::cuda
