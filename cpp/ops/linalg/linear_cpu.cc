// The bias is added where the product is stored.
#include "device/cpu/product.h"

namespace tw::ops {

using namespace device;

namespace {

void linear_kernel(KernelContext& k) {
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
  if (bias.present())
    matrix_product_with_bias(result.operand, rows.operand, transposed.operand, bias);
  else
    matrix_product(result.operand, rows.operand, transposed.operand);
}

}  // namespace

void kernels_linear(KernelTable& table) { table.add("linear", linear_kernel); }

}  // namespace tw::ops
