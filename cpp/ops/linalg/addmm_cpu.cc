// The output begins as a copy of input, and BLAS adds the product to it: no pass over the sum of its own.
#include "ops/linalg/addmm.h"

#include "device/cpu/cast.h"
#include "device/cpu/product.h"
#include "device/cpu/scratch.h"

namespace tw::ops {

using namespace device;

namespace {

void sum_of_product_kernel(KernelContext& k) {
  const auto& a = k.attrs<BetaAlphaAttrs>();
  const Operand& out = k.out();
  bool in_place = k.in(0).data == out.data;
  if (out.contiguous()) {
    if (a.beta.to_bool() && !in_place) copy_cast(out, k.in(0));
    return matrix_product(out, k.in(1), k.in(2), a.alpha, a.beta);
  }
  Dims strides = contiguous_strides(*out.sizes);  // in place on a strided tensor
  Scratch memory(static_cast<size_t>(out.count() * size_of(out.dtype)));
  Operand whole{memory.get(), out.sizes, &strides, out.dtype};
  if (a.beta.to_bool()) copy_cast(whole, k.in(0));
  matrix_product(whole, k.in(1), k.in(2), a.alpha, a.beta);
  copy_cast(out, whole);
}

}  // namespace

void kernels_addmm(KernelTable& table) {
  table.add("addmm", sum_of_product_kernel);
  table.add("baddbmm", sum_of_product_kernel);
}

}  // namespace tw::ops
