// lerp, addcmul, addcdiv. Bytes: three operands read, one written, once. Floor: bytes over the bandwidth.
#include "ops/pointwise/fused.h"

#include "cuda/common/dense.h"
#include "cuda/common/functions.h"

namespace tw::cuda {

using device::KernelContext;
using device::Operand;

namespace {

// From the nearer end, so that weight 1 gives the end exactly.
struct Between {
  template <class C>
  TW_DEVICE C operator()(C a, C b, C w) const {
    return std::fabs(w) < C(0.5) ? a + w * (b - a) : b - (b - a) * (C(1) - w);
  }
};
template <class C>
struct AddProduct {
  C value;
  TW_DEVICE C operator()(C a, C b, C c) const { return static_cast<C>(a + value * b * c); }
};
template <class C>
struct AddQuotient {
  C value;
  TW_DEVICE C operator()(C a, C b, C c) const { return a + value * b / c; }
};

// A weight of another dtype, which a Python number has, is converted first.
void lerp_kernel(KernelContext& k) {
  dispatch_float(k.out().dtype, k.op, [&]<class T>() {
    const Operand& weight = k.in(2);
    if (weight.dtype == k.out().dtype) return pointwise<T, T, T, T>(k, Between());
    Dense<T> converted(weight, k.op);
    Dims strides = contiguous_strides(*weight.sizes);
    Operand same{converted.data(), weight.sizes, &strides, k.out().dtype};
    pointwise_over(Types<T>{}, Types<T, T, T>{}, {&k.out()}, {&k.in(0), &k.in(1), &same}, k.op, Between());
  });
}
void addcmul_kernel(KernelContext& k) {
  dispatch_real(k.out().dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    pointwise<T, T, T, T>(k, AddProduct<C>{k.attrs<ops::ValueAttrs>().value.to<C>()});
  });
}
void addcdiv_kernel(KernelContext& k) {
  dispatch_float(k.out().dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    pointwise<T, T, T, T>(k, AddQuotient<C>{k.attrs<ops::ValueAttrs>().value.to<C>()});
  });
}

}  // namespace

void kernels_fused(device::KernelTable& table) {
  table.add("lerp", lerp_kernel);
  table.add("addcmul", addcmul_kernel);
  table.add("addcdiv", addcdiv_kernel);
}

}  // namespace tw::cuda
