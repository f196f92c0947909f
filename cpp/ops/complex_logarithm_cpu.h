// log(exp(a) + exp(b)) of complex numbers, without overflow; for logaddexp and its scan.
#pragma once

#include <cmath>
#include <complex>

namespace tw::ops {

// The real parts say which is larger. log(1 + z) is taken by its parts, exact for small z.
template <class T>
T complex_logaddexp(T a, T b) {
  T high = a.real() < b.real() ? b : a, low = a.real() < b.real() ? a : b;
  if (high.real() == low.real() && std::isinf(low.real()))
    return low.real() < 0 ? low : std::log(std::exp(a) + std::exp(b));
  T z = std::exp(low - high);
  auto x = z.real(), y = z.imag();
  return high + T(std::log1p(x * (2 + x) + y * y) / 2, std::atan2(y, 1 + x));
}

}  // namespace tw::ops
