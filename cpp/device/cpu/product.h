// Matrix products of strided operands of any dtype but bool.
//
// float32, float64 and the complex types go to gemm.h; the half types through float32 copies, as
// oneDNN and BLAS refuse or crawl on CPUs without native support; integers through a plain loop that wraps
// around. Operands are copied only where neither of their last two strides is 1; leading dims of stride 0 are
// never expanded. Floor: 2·M·N·K flops over the machine's peak.
#pragma once

#include "base/scalar.h"
#include "device/kernel.h"

namespace tw::device {

// out[..., m, n] = alpha · a[..., m, k] b[..., k, n] + beta · out. The leading dims of a and b broadcast to
// those of out, which is contiguous. With beta = 0 what out held is never read.
void matrix_product(const Operand& out, const Operand& a, const Operand& b, const Scalar& alpha = Scalar(1),
                    const Scalar& beta = Scalar(0));

// out[..., m, n] = a[..., m, k] b[k, n] + bias, which broadcasts to [n].
void matrix_product_with_bias(const Operand& out, const Operand& a, const Operand& b, const Operand& bias);

// An operand seen with other sizes and strides; owns these.
struct Reshaped {
  Dims sizes, strides;
  Operand operand;

  Reshaped(const Operand& from, Dims new_sizes, Dims new_strides)
      : sizes(std::move(new_sizes)),
        strides(std::move(new_strides)),
        operand{from.data, &sizes, &strides, from.dtype} {}
  Reshaped(const Reshaped&) = delete;
  Reshaped& operator=(const Reshaped&) = delete;
};

}  // namespace tw::device
