// lerp, addcmul, addcdiv. Bytes: three operands read, one written, once. Floor: bytes over the bandwidth.
//
// Per element: 16 bytes and 4 operations (lerp, float32).
#include "ops/pointwise/fused.h"

#include "cuda/common/complex.h"
#include "cuda/common/dense.h"
#include "cuda/common/pointwise.h"
#include "ops/pointwise/fused_formula.h"

namespace tw::cuda {

using device::KernelContext;
using device::Operand;

namespace {

// The type of a scalar attribute as the device has it.
template <class C>
C number_of(const Scalar& value) {
  if constexpr (is_device_complex<C>)
    return to_device_complex(static_cast<std::complex<decltype(C::re)>>(value.to_complex()));
  else
    return value.to<C>();
}

// A weight of another dtype, which a Python number has, is not rounded to T's.
void lerp_kernel(KernelContext& k) {
  const Operand& weight = k.in(2);
  dispatch_float_or_complex(k.out().dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    if (weight.dtype == k.out().dtype) return pointwise<T, T, T, T>(k, ops::LerpFormula());
    Dense<C> converted(weight, k.op);
    Dims strides = contiguous_strides(*weight.sizes);
    Operand same{converted.data(), weight.sizes, &strides, dtype_of<C>};
    pointwise_over(Types<T>{}, Types<T, T, C>{}, {&k.out()}, {&k.in(0), &k.in(1), &same}, k.op,
                   ops::LerpFormula());
  });
}
void addcmul_kernel(KernelContext& k) {
  const Scalar& value = k.attrs<ops::ValueAttrs>().value;
  dispatch_numbers(k.out().dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    pointwise<T, T, T, T>(k, ops::AddProductFormula<C>{number_of<C>(value)});
  });
}
void addcdiv_kernel(KernelContext& k) {
  const Scalar& value = k.attrs<ops::ValueAttrs>().value;
  dispatch_float_or_complex(k.out().dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    pointwise<T, T, T, T>(k, ops::AddQuotientFormula<C>{number_of<C>(value)});
  });
}

}  // namespace

void kernels_fused(device::KernelTable& table) {
  table.add("lerp", lerp_kernel);
  table.add("addcmul", addcmul_kernel);
  table.add("addcdiv", addcdiv_kernel);
}

}  // namespace tw::cuda
