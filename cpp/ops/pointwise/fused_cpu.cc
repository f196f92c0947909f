// One pass; floor: the operands' bytes over the bandwidth.
#include "device/cpu/loops.h"
#include "ops/pointwise/fused.h"

namespace tw::ops {

using namespace device;

namespace {

// From the nearer end, so that weight 1 gives the end exactly.
template <class C>
TW_INLINE C between(C a, C b, C w) {
  if constexpr (is_complex_type<C>)
    return a + w * (b - a);
  else
    return std::abs(w) < C(0.5) ? a + w * (b - a) : b - (b - a) * (C(1) - w);
}

// The number in a one-element operand of any dtype.
template <class C>
C number_in(const Operand& x) {
  C value{};
  dispatch_all(x.dtype, "lerp", [&]<class W>() {
    auto loaded = load<W>(*x.as<stored_t<W>>());
    if constexpr (is_complex_type<C> || !is_complex_type<W>) value = static_cast<C>(loaded);
  });
  return value;
}

void lerp_kernel(KernelContext& k) {
  dispatch_float_complex(k.out().dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    if (k.in(2).count() != 1)
      return ternary_loop<T, T, T, T>(k, [](C a, C b, C w) { return between(a, b, w); });
    C w = number_in<C>(k.in(2));
    binary_loop<T, T, T>(k, [w](C a, C b) { return between(a, b, w); });
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
