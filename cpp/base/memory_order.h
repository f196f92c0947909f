// The order of a tensor's dims in memory, where it is not row-major: which order strides tell, and which one
// a result takes from its inputs. The rules are PyTorch's, so that a program sees the same strides.
#pragma once

#include <span>

#include "base/dims.h"

namespace tw {

// Strides of sizes [N, C, *D], without gaps, with the channels (dim 1) next to one another.
Dims channels_last_strides(const Dims& sizes);

// Whether strides name that order for a tensor of 4 or 5 dims, gaps allowed. Where dims of size 1 leave open
// which order is meant, their strides decide, and where these do not, it is row-major.
bool is_channels_last(const Dims& sizes, const Dims& strides);

// Whether every element of a block of memory belongs to exactly one index, in any order of dims.
bool is_dense(const Dims& sizes, const Dims& strides);

// Whether two windows of the same sizes walk memory alike; strides of dims of size 1 do not matter.
bool same_walk(const Dims& sizes, const Dims& strides, const Dims& other_strides);

struct Window {
  const Dims* sizes;
  const Dims* strides;
};

// Strides, without gaps, of a pointwise result of `sizes` over operands that broadcast to it: those of the
// operands where they are dense and agree; else the dims are sorted by the strides of the first operand that
// tells two of them apart.
Dims pointwise_strides(const Dims& sizes, std::span<const Window> operands);

}  // namespace tw
