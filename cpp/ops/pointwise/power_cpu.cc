// One pass. Squares, cubes, roots and reciprocals by a number run at the bandwidth; other powers of float
// take some 40 operations and vectorise, those of double and complex call the C library.
#include "device/cpu/loops.h"
#include "device/cpu/math_functions.h"
#include "ops/complex_formula.h"
#include "ops/pointwise/power_formula.h"

namespace tw::ops {

using namespace device;

namespace {

template <class T>
TW_INLINE T general_power(T base, T exponent) {
  if constexpr (is_complex_type<T>)
    return complex_power(base, exponent);
  else
    return PowerFormula<math::Functions>()(base, exponent);
}

// Reads a one-element operand.
template <class T>
compute_t<T> number_in(const Operand& operand) {
  return load<T>(*operand.as<stored_t<T>>());
}

// Exponents that need no logarithm; false for others.
template <class T>
bool simple_power(KernelContext& k, compute_t<T> exponent) {
  using C = compute_t<T>;
  auto run = [&]<ShortPower kKind>() {
    unary_loop<T, T>(k, [](C a) { return raise_shortly(a, kKind); });
    return true;
  };
  ShortPower kind = short_power(exponent);
  if (kind == ShortPower::kNone) return false;
  if (kind == ShortPower::kSquare) return run.template operator()<ShortPower::kSquare>();
  if (kind == ShortPower::kCube) return run.template operator()<ShortPower::kCube>();
  if constexpr (std::is_floating_point_v<C>) {
    if (kind == ShortPower::kRoot) return run.template operator()<ShortPower::kRoot>();
    if (kind == ShortPower::kInverseRoot) return run.template operator()<ShortPower::kInverseRoot>();
    return run.template operator()<ShortPower::kInverse>();
  }
  return false;
}

void pow_kernel(KernelContext& k) {
  dispatch_number(k.out().dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    if (k.out().count() == 0) return;
    if (k.in(1).count() == 1 && simple_power<T>(k, number_in<T>(k.in(1)))) return;
    binary_loop<T, T, T>(k, [](C a, C b) { return general_power(a, b); });
  });
}

void pow_backward_kernel(KernelContext& k) {
  dispatch_float(k.out().dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    if (k.out().count() == 0) return;
    if (k.in(2).count() == 1 && number_in<T>(k.in(2)) == C(2))
      return binary_loop<T, T, T>(k, SquareBackwardFormula());
    ternary_loop<T, T, T, T>(k, PowerBackwardFormula<math::Functions>());
  });
}

}  // namespace

void kernels_power(KernelTable& table) {
  table.add("pow", pow_kernel);
  table.add("pow_backward", pow_backward_kernel);
}

}  // namespace tw::ops
