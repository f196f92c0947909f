// lerp, addcmul, addcdiv. Bytes: three operands read, one written, once. Floor: bytes over the bandwidth.
//
// Per element: 16 bytes and 4 operations (lerp, float32).
#include "ops/pointwise/fused.h"

#include "cuda/common/dense.h"
#include "cuda/common/pointwise.h"
#include "ops/pointwise/fused_formula.h"

namespace tw::cuda {

using device::KernelContext;
using device::Operand;

namespace {

// A weight of another dtype, which a Python number has, is converted first.
void lerp_kernel(KernelContext& k) {
  dispatch_float(k.out().dtype, k.op, [&]<class T>() {
    const Operand& weight = k.in(2);
    if (weight.dtype == k.out().dtype) return pointwise<T, T, T, T>(k, ops::LerpFormula());
    Dense<T> converted(weight, k.op);
    Dims strides = contiguous_strides(*weight.sizes);
    Operand same{converted.data(), weight.sizes, &strides, k.out().dtype};
    pointwise_over(Types<T>{}, Types<T, T, T>{}, {&k.out()}, {&k.in(0), &k.in(1), &same}, k.op,
                   ops::LerpFormula());
  });
}
void addcmul_kernel(KernelContext& k) {
  dispatch_real(k.out().dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    pointwise<T, T, T, T>(k, ops::AddProductFormula<C>{k.attrs<ops::ValueAttrs>().value.to<C>()});
  });
}
void addcdiv_kernel(KernelContext& k) {
  dispatch_float(k.out().dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    pointwise<T, T, T, T>(k, ops::AddQuotientFormula<C>{k.attrs<ops::ValueAttrs>().value.to<C>()});
  });
}

}  // namespace

void kernels_fused(device::KernelTable& table) {
  table.add("lerp", lerp_kernel);
  table.add("addcmul", addcmul_kernel);
  table.add("addcdiv", addcdiv_kernel);
}

}  // namespace tw::cuda
