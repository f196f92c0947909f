// Error and gamma functions; see math.h.
#pragma once

#include "base/gamma.h"
#include "device/cpu/math_exponential.h"

namespace tw::math {

namespace detail {

// exp(a^2) erfc(a) for a >= 0 (Schonfelder, "Chebyshev expansions for the error and related functions",
// 1978).
TW_INLINE double erfcx(double a) {
  double t = (a - 4) / (a + 4);
  return polynomial(t, kErfcDouble) / (1 + 2 * a);
}
// erfc(a) for a >= 0; the square is split, since its rounding error would be multiplied by itself.
TW_INLINE double erfc_positive(double a) {
  a = a > 28 ? 28 : a;
  double high = from_bits<double>(bits_of(a) & 0xFFFFFFFFF8000000u), low = (high - a) * (high + a);
  // exp(-high^2 + low): low may reach 1e-4, too much to be taken as it is into the reduced argument
  double square = -high * high, sum = square + low;
  return exp_scaled(sum, low - (sum - square), uint64_t{0}) * erfcx(a);
}

}  // namespace detail

TW_INLINE double erf(double x) {
  double a = detail::abs(x), z = x * x;
  double inner = x + x * detail::polynomial(z, detail::kErfDouble);
  return a < 0.9 ? inner : detail::copy_sign(1 - detail::erfc_positive(a), x);
}
TW_INLINE float erf(float x) {
  float a = detail::abs(x), z = x * x;
  float inner = x + x * detail::polynomial(z, detail::kErfFloat);
  float limited = a > 4.05f ? 4.05f : a;
  float outer = 1 - exp(-detail::polynomial(limited - 2.6f, detail::kErfcExponentFloat));
  outer = a > 4 ? 1 : outer;
  return a < 1.15f ? inner : (x != x ? x : detail::copy_sign(outer, x));
}

TW_INLINE double erfc(double x) {
  double a = detail::abs(x);
  double inner = 1 - (a + a * detail::polynomial(a * a, detail::kErfDouble));
  double y = a < 0.5 ? inner : detail::erfc_positive(a);
  return x != x ? x : (x < 0 ? 2 - y : y);
}
TW_BY_WAY_OF_DOUBLE(erfc)

// Of the standard normal distribution: size = |x|, but at most what makes bell 0; bell = exp(-x²/2); bell
// times mills is the tail 1 - cdf(size).
template <class T>
struct NormalTail {
  T size, bell, mills;
};
TW_INLINE NormalTail<float> normal_tail(float x) {
  using namespace detail;
  float a = abs(x);
  a = a > 13.27f ? 13.27f : a;
  float scaled = a * -0.72134752044448170368f;  // -1 / (2 ln 2)
  PowerOfTwo<float> n(a * scaled);
  float r = a * scaled - n.whole;
  float bell = (1 + r * polynomial(r, kExp2Float)) * n.power();
  return {a, bell, polynomial(a, kMillsAboveFloat) / polynomial(a, kMillsBelowFloat)};
}
TW_INLINE NormalTail<double> normal_tail(double x) {
  double a = detail::abs(x);
  a = a > 39 ? 39 : a;
  return {a, exp_nonpositive(-0.5 * a * a), 0.5 * detail::erfcx(a * 0.70710678118654752440)};
}

TW_INLINE double erfinv(double x) {
  using namespace detail;
  double a = abs(x), w = -log((1 - a) * (1 + a)), root = std::sqrt(w);
  double centre = polynomial(w - 3.125, kErfinvCentreDouble);
  double middle = polynomial(root - 3.25, kErfinvMiddleDouble);
  double tail = polynomial(root - 5, kErfinvTailDouble);
  double ratio = w < 6.25 ? centre : (root < 4 ? middle : tail);
  return a == 1 ? copy_sign(kInf<double>, x) : x * ratio;
}
TW_BY_WAY_OF_DOUBLE(erfinv)

// log |gamma(x)|, by the C library's version that shares nothing between threads.
inline double lgamma(double x) {
  int sign;
  return ::lgamma_r(x, &sign);
}
inline float lgamma(float x) { return static_cast<float>(lgamma(static_cast<double>(x))); }

using ::tw::digamma;
inline float digamma(float x) { return static_cast<float>(digamma(static_cast<double>(x))); }

}  // namespace tw::math
