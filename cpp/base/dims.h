// Sizes and strides, and the arithmetic on them that every layer needs. Strides count elements, not bytes.
#pragma once

#include <cstdint>

#include "base/small_vector.h"

namespace tw {

using Dims = SmallVector<int64_t, 6>;
using IntList = Dims;

// Product of the sizes; throws kValue when a size is negative or the product overflows.
int64_t numel(const Dims& sizes);
Dims contiguous_strides(const Dims& sizes);
bool is_contiguous(const Dims& sizes, const Dims& strides);
// True when two different indices may reach the same element (an expanded or overlapping view).
bool may_overlap(const Dims& sizes, const Dims& strides);

// dim in [-rank, rank) → [0, rank); a tensor of rank 0 takes dims -1 and 0. Throws kIndex, naming `op`.
int64_t wrap_dim(int64_t dim, int64_t rank, const char* op);
// The same for a list, refusing repeated dims.
Dims wrap_dims(const Dims& dims, int64_t rank, const char* op);

// NumPy's broadcasting of two shapes; throws kValue naming `op` and both shapes.
Dims broadcast_sizes(const Dims& a, const Dims& b, const char* op);

// Memory positions of a strided view: where `sizes` with `strides` can be seen as `target` without a copy,
// writes the strides of that view and returns true.
bool view_strides(const Dims& sizes, const Dims& strides, const Dims& target, Dims* target_strides);
// Replaces one -1 in `target` by what makes its product `count`; throws kValue naming `op`.
Dims infer_size(const Dims& target, int64_t count, const char* op);

}  // namespace tw
