// lerp, addcmul, addcdiv. Bytes: three operands read, one written, once. Floor: bytes over the bandwidth.
#include "ops/pointwise/fused.h"

#include "cuda/common/functions.h"

namespace tw::cuda {

using device::KernelContext;

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

void lerp_kernel(KernelContext& k) {
  TW_CHECK(k.in(2).dtype == k.out().dtype, kNotImplemented, k.op, ": a weight of dtype ", k.in(2).dtype,
           " beside ", k.out().dtype, " is not supported on CUDA");
  dispatch_float(k.out().dtype, k.op, [&]<class T>() { pointwise<T, T, T, T>(k, Between()); });
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
