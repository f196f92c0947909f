// One pass; floor: the operands' bytes over the bandwidth.
#include "device/cpu/loops.h"
#include "ops/pointwise/fused.h"
#include "ops/pointwise/fused_formula.h"

namespace tw::ops {

using namespace device;

namespace {

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
    if (k.in(2).count() != 1) return ternary_loop<T, T, T, T>(k, LerpFormula());
    C w = number_in<C>(k.in(2));
    binary_loop<T, T, T>(k, [w](C a, C b) { return LerpFormula()(a, b, w); });
  });
}

void addcmul_kernel(KernelContext& k) {
  dispatch_number(k.out().dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    auto value = k.attrs<ValueAttrs>().value.to<C>();
    ternary_loop<T, T, T, T>(k, AddProductFormula<C>{value});
  });
}

void addcdiv_kernel(KernelContext& k) {
  dispatch_float_complex(k.out().dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    auto value = k.attrs<ValueAttrs>().value.to<C>();
    ternary_loop<T, T, T, T>(k, AddQuotientFormula<C>{value});
  });
}

}  // namespace

void kernels_fused(KernelTable& table) {
  table.add("lerp", lerp_kernel);
  table.add("addcmul", addcmul_kernel);
  table.add("addcdiv", addcdiv_kernel);
}

}  // namespace tw::ops
