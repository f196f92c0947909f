// addmm, baddbmm: beta input + alpha a b. The output begins as a copy of input, and cuBLASLt adds the product
// to it. Bytes: the operands' once, the output twice; 2·M·N·K flops. Floor: as of a product.
#include "ops/linalg/addmm.h"

#include "cuda/common/copy.h"
#include "cuda/common/product.h"
#include "cuda/device/scratch.h"

namespace tw::cuda {

using device::Operand;

namespace {

void sum_of_product_kernel(device::KernelContext& k) {
  const auto& a = k.attrs<ops::BetaAlphaAttrs>();
  const Operand& out = k.out();
  bool in_place = k.in(0).data == out.data;
  if (out.contiguous()) {
    if (a.beta.to_bool() && !in_place) copy_cast(out, k.in(0), k.op);
    return matrix_product(out, k.in(1), k.in(2), k.op, a.alpha, a.beta);
  }
  Dims strides = contiguous_strides(*out.sizes);  // in place on a strided tensor
  DeviceScratch memory(static_cast<size_t>(out.count() * size_of(out.dtype)));
  Operand whole{memory.as<void>(), out.sizes, &strides, out.dtype};
  if (a.beta.to_bool()) copy_cast(whole, k.in(0), k.op);
  matrix_product(whole, k.in(1), k.in(2), k.op, a.alpha, a.beta);
  copy_cast(out, whole, k.op);
}

}  // namespace

void kernels_addmm(device::KernelTable& table) {
  table.add("addmm", sum_of_product_kernel);
  table.add("baddbmm", sum_of_product_kernel);
}

}  // namespace tw::cuda
