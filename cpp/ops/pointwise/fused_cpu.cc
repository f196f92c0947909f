// One pass; floor: the operands' bytes over the bandwidth.
#include "device/cpu/loops.h"
#include "ops/pointwise/fused.h"

namespace tw::ops {

using namespace device;

namespace {

void lerp_kernel(KernelContext& k) {
  dispatch_float_complex(k.out().dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    ternary_loop<T, T, T, T>(k, [](C a, C b, C w) {
      if constexpr (is_complex_type<T>) return a + w * (b - a);
      // From the nearer end, so that weight 1 gives the end exactly.
      else
        return std::abs(w) < C(0.5) ? a + w * (b - a) : b - (b - a) * (C(1) - w);
    });
  });
}

void addcmul_kernel(KernelContext& k) {
  dispatch_number(k.out().dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    auto value = k.attrs<ValueAttrs>().value.to<C>();
    ternary_loop<T, T, T, T>(k, [value](C a, C b, C c) { return static_cast<C>(a + value * b * c); });
  });
}

void addcdiv_kernel(KernelContext& k) {
  dispatch_float_complex(k.out().dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    auto value = k.attrs<ValueAttrs>().value.to<C>();
    ternary_loop<T, T, T, T>(k, [value](C a, C b, C c) { return a + value * b / c; });
  });
}

}  // namespace

void kernels_fused(KernelTable& table) {
  table.add("lerp", lerp_kernel);
  table.add("addcmul", addcmul_kernel);
  table.add("addcdiv", addcdiv_kernel);
}

}  // namespace tw::ops
