// One pass. Squares, cubes, roots and reciprocals by a number run at the bandwidth; other powers of float
// take some 40 operations and vectorise, those of double and complex call the C library.
#include <cmath>

#include "device/cpu/loops.h"
#include "device/cpu/math.h"

namespace tw::ops {

using namespace device;

namespace {

template <class T>
T int_power(T base, T exponent) {
  if (exponent < 0) {
    if (base == T(1)) return 1;
    if (base == T(-1)) return exponent % 2 ? T(-1) : T(1);
    return 0;
  }
  // In uint64, where overflow wraps around.
  uint64_t result = 1, square = static_cast<uint64_t>(base);
  for (auto left = static_cast<uint64_t>(exponent); left; left >>= 1) {
    if (left & 1) result *= square;
    square *= square;
  }
  return static_cast<T>(result);
}

template <class T>
TW_INLINE T general_power(T base, T exponent) {
  if constexpr (std::is_integral_v<T>)
    return int_power(base, exponent);
  else if constexpr (is_complex_type<T>)
    return exponent == T(0) ? T(1) : std::pow(base, exponent);
  else
    return math::pow(base, exponent);
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
  if (exponent == C(2)) return unary_loop<T, T>(k, [](C a) { return a * a; }), true;
  if (exponent == C(3)) return unary_loop<T, T>(k, [](C a) { return a * a * a; }), true;
  if constexpr (std::is_floating_point_v<C>) {
    if (exponent == C(0.5)) return unary_loop<T, T>(k, [](C a) { return std::sqrt(a); }), true;
    if (exponent == C(-0.5)) return unary_loop<T, T>(k, [](C a) { return C(1) / std::sqrt(a); }), true;
    if (exponent == C(-1)) return unary_loop<T, T>(k, [](C a) { return C(1) / a; }), true;
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
      return binary_loop<T, T, T>(k, [](C g, C a) { return g * (C(2) * a); });
    ternary_loop<T, T, T, T>(k, [](C g, C a, C b) {
      C slope = g * (b * math::pow(a, b - C(1)));
      return b == C(0) ? C(0) : slope;
    });
  });
}

}  // namespace

void kernels_power(KernelTable& table) {
  table.add("pow", pow_kernel);
  table.add("pow_backward", pow_backward_kernel);
}

}  // namespace tw::ops
