// Matrix products of strided operands; what device/cpu/product.h is to the CPU.
#pragma once

#include "base/scalar.h"
#include "device/kernel.h"

namespace tw::cuda {

// out[..., m, n] = alpha · a[..., m, k] b[..., k, n] + beta · out + bias. The leading dims of a and b
// broadcast to those of out, which is contiguous. With beta = 0 what out held is never read; a bias that is
// present() has n elements next to each other. Operands are copied only where neither of their last two
// strides is 1.
void matrix_product(const device::Operand& out, const device::Operand& a, const device::Operand& b,
                    const char* op, const Scalar& alpha = Scalar(1), const Scalar& beta = Scalar(0),
                    const device::Operand& bias = {});

// An operand seen with other sizes and strides; owns these.
struct Reshaped {
  Dims sizes, strides;
  device::Operand operand;

  Reshaped(const device::Operand& from, Dims new_sizes, Dims new_strides)
      : sizes(std::move(new_sizes)),
        strides(std::move(new_strides)),
        operand{from.data, &sizes, &strides, from.dtype} {}
  Reshaped(const Reshaped&) = delete;
  Reshaped& operator=(const Reshaped&) = delete;
};

}  // namespace tw::cuda
