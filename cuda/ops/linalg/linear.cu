// linear: x weightᵀ + bias, the bias added where cuBLASLt stores the product. Bytes: the operands' once;
// 2·M·N·K flops. Floor: the larger of flops over the library's peak and bytes over the bandwidth.
#include "cuda/common/copy.h"
#include "cuda/common/product.h"

namespace tw::cuda {

using device::Operand;

namespace {

void linear_kernel(device::KernelContext& k) {
  const Operand &out = k.out(), &x = k.in(0), &weight = k.in(1), &bias = k.in(2);
  int64_t outputs = weight.rank() == 2 ? weight.size(0) : 1, inputs = weight.size(-1);
  int64_t outputs_down = weight.rank() == 2 ? weight.stride(0) : inputs;
  Reshaped transposed(weight, {inputs, outputs}, {weight.stride(-1), outputs_down});
  // As batches of rows: the product folds them where they lie evenly.
  Dims sizes = *x.sizes, strides = *x.strides;
  if (x.rank() == 1) {
    sizes.insert(sizes.begin(), 1);
    strides.insert(strides.begin(), inputs);
  }
  Reshaped rows(x, sizes, strides);
  Dims out_sizes = sizes;
  out_sizes.back() = outputs;
  Reshaped result(out, out_sizes, contiguous_strides(out_sizes));
  bool plain = bias.present() && bias.rank() == 1 && bias.size(0) == outputs && bias.stride(0) == 1 &&
               !is_complex(bias.dtype);
  if (!bias.present() || plain)
    return matrix_product(result.operand, rows.operand, transposed.operand, k.op, Scalar(1), Scalar(0),
                          plain ? bias : Operand());
  copy_cast(result.operand, bias, k.op);
  matrix_product(result.operand, rows.operand, transposed.operand, k.op, Scalar(1), Scalar(1));
}

}  // namespace

void kernels_linear(device::KernelTable& table) { table.add("linear", linear_kernel); }

}  // namespace tw::cuda
