// The arithmetic of reductions over several buffers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/dtype.h"
#include "comm/call.h"

namespace tw::comm {

// Of `fold_parts`, the kernel that does what reduce() does on devices with kernels of their own: inputs and
// output are dense, lie on one device, at most kMostFolded inputs.
struct FoldAttrs {
  Reduction reduction = Reduction::kSum;
};
inline constexpr int kMostFolded = 16;

// Throws kNotImplemented where elements of this dtype have no such reduction (the order of complex numbers).
void check_reduction(DType dtype, Reduction reduction, const char* op);

// output[i] = inputs[0][i] op inputs[1][i] op ..., in this order; half types are summed in float and rounded
// once. `output` may be one of the inputs, never a shifted part of one. bool: sum and max are "or", prod and
// min "and". NaN is the largest and the smallest number. Reads (inputs + 0) × count elements once, writes
// count.
void reduce(DType dtype, Reduction reduction, void* output, std::span<const void* const> inputs,
            int64_t count);

// The same in pieces that come one by one: the first input of an element begins its sum.
class Accumulator {
 public:
  Accumulator(DType dtype, Reduction reduction, int64_t capacity);
  void put(const void* input, int64_t first, int64_t count);  // begins
  void add(const void* input, int64_t first, int64_t count);
  void store(void* output, int64_t count) const;

 private:
  DType dtype_;
  Reduction reduction_;
  std::vector<char> sums_;
};

}  // namespace tw::comm
