// How a reduction walks its input: the dims that stay and those that go, each merged where memory allows.
#pragma once

#include "cuda/common/walk.h"

namespace tw::cuda {

// Dims innermost first, strides in bytes.
struct ReduceShape {
  int64_t outputs = 1, reduced = 1;
  int kept_rank = 0, reduced_rank = 0;
  Divisor kept[kWalkDims], gone[kWalkDims];
  int64_t kept_in[kWalkDims], kept_out[kWalkDims], gone_in[kWalkDims];

  // Where output `o` lies, and the first element that it reads.
  TW_DEVICE void output(int64_t o, int64_t* in, int64_t* out) const {
    *in = *out = 0;
    auto rest = static_cast<uint32_t>(o);
    for (int d = 0; d < kept_rank; d++) {
      uint32_t next = d + 1 < kept_rank ? kept[d].quotient(rest) : 0;
      int64_t index = rest - next * kept[d].divisor;
      *in += index * kept_in[d];
      *out += index * kept_out[d];
      rest = next;
    }
  }
  // Where reduced element `r` lies, from there.
  TW_DEVICE int64_t element(int64_t r) const {
    if (reduced_rank == 1) return r * gone_in[0];
    int64_t at = 0;
    auto rest = static_cast<uint32_t>(r);
    for (int d = 0; d < reduced_rank; d++) {
      uint32_t next = d + 1 < reduced_rank ? gone[d].quotient(rest) : 0;
      at += (rest - next * gone[d].divisor) * gone_in[d];
      rest = next;
    }
    return at;
  }
};

// Bit d of `mask` is set for the dims that go; `out` has the others, or all with size 1. Throws
// kNotImplemented for more dims than a walk has and more elements than it counts.
ReduceShape reduce_shape(const device::Operand& in, const device::Operand& out, uint64_t mask,
                         const char* op);

// Of kernels that work along one dim of several operands: the other dims unmerged, in the operand's order, so
// that output `o` is the same row of each.
ReduceShape row_shape(const device::Operand& operand, int64_t dim, const char* op);

// All dims for an empty list; `dims` are wrapped.
uint64_t mask_of(const Dims& dims, int64_t rank);

}  // namespace tw::cuda
