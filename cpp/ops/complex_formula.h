// Functions of complex numbers beyond the C library's. Z: std::complex, or what stands for it on a device,
// whose namespace has exp, log, sin, sqrt and their kin for it.
#pragma once

#include <cmath>
#include <type_traits>

#include "base/formula.h"

namespace tw::ops {

// z's conjugate; a real number itself. A device's complex numbers have their own.
template <class C>
TW_FORMULA C conjugate(C z) {
  if constexpr (std::is_floating_point_v<C>)
    return z;
  else
    return conj(z);
}

template <class Z>
TW_FORMULA Z complex_times(Z z, double factor) {
  return Z(z.real() * factor, z.imag() * factor);
}

// log(1 + z); near 0 by its parts, exact for small z: the real one is log1p(2 x + |z|^2) / 2.
template <class Z>
TW_FORMULA Z complex_log1p_of_small(Z z) {
  auto x = z.real(), y = z.imag();
  return Z(std::log1p(x * (2 + x) + y * y) / 2, std::atan2(y, 1 + x));
}
template <class Z>
TW_FORMULA Z complex_log1p(Z z) {
  if (std::fabs(z.real()) < 0.5 && std::fabs(z.imag()) < 0.5) return complex_log1p_of_small(z);
  return log(Z(z.real() + 1, z.imag()));
}

// exp(z) - 1 without cancellation near 0: its real part is expm1(x) cos(y) - 2 sin^2(y / 2).
template <class Z>
TW_FORMULA Z complex_expm1(Z z) {
  auto half_sine = std::sin(z.imag() / 2), growth = std::expm1(z.real());
  return Z(growth * std::cos(z.imag()) - 2 * half_sine * half_sine, (growth + 1) * std::sin(z.imag()));
}

// log(exp(a) + exp(b)) without overflow. The real parts say which is larger.
template <class Z>
TW_FORMULA Z complex_logaddexp(Z a, Z b) {
  bool second = a.real() < b.real();
  Z high = second ? b : a, low = second ? a : b;
  if (high.real() == low.real() && std::isinf(low.real())) return low.real() < 0 ? low : log(exp(a) + exp(b));
  return high + complex_log1p_of_small(exp(low - high));
}

template <class Z>
TW_FORMULA Z complex_sigmoid(Z z) {
  return Z(1) / (Z(1) + exp(-z));
}

// sin(pi z) / (pi z)
template <class Z>
TW_FORMULA Z complex_sinc(Z z) {
  if (z == Z(0)) return Z(1);
  Z turn = z * Z(3.141592653589793);
  return sin(turn) / turn;
}

template <class Z>
TW_FORMULA Z complex_power(Z base, Z exponent) {
  return exponent == Z(0) ? Z(1) : pow(base, exponent);
}

}  // namespace tw::ops
