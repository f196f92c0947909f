// Exponentials, logarithms, hyperbolic functions and powers; see math.h.
#pragma once

#include "device/cpu/math_bits.h"
#include "device/cpu/math_coefficients.h"

namespace tw::math {

namespace detail {

// The high part of ln 2 has so few bits that its product with an exponent is exact.
template <class T>
inline constexpr T kLn2High = is_single<T> ? T(0x1.62e4p-1) : T(0x1.62e42fee00000p-1);
template <class T>
inline constexpr T kLn2Low = is_single<T> ? T(0x1.7f7d1cp-20) : T(0x1.a39ef35793c76p-33);

// x = n ln 2 + r.
template <class T>
struct Reduced {
  T r;
  word_t<T> n;
};
template <class T>
TW_INLINE Reduced<T> reduce_by_ln2(T x, T low = 0) {
  Rounded<T> n = round_to_whole(x * T(1.4426950408889634074));
  return {(x - n.value * kLn2High<T>)-(n.value * kLn2Low<T> - low), n.word};
}

template <class T>
TW_INLINE T exp_tail(T r) {
  if constexpr (is_single<T>)
    return polynomial(r, kExpFloat);
  else
    return polynomial(r, kExpDouble);
}

// exp(x + low) 2^more, where |low| is far below 1.
template <class T>
TW_INLINE T exp_scaled(T x, T low, word_t<T> more) {
  x = is_single<T> ? clamp_exponent(x, T(-120), T(120)) : clamp_exponent(x, T(-800), T(800));
  Reduced<T> a = reduce_by_ln2(x, low);
  T y = (a.r * a.r * exp_tail(a.r) + a.r) + T(1);
  return scale(y, a.n + more);
}

// (exp(x) - 1) / 2, which is finite wherever sinh is.
template <class T>
TW_INLINE T half_expm1(T x) {
  T limited = is_single<T> ? clamp_exponent(x, T(-40), T(89.5)) : clamp_exponent(x, T(-80), T(710.6));
  Reduced<T> a = reduce_by_ln2(limited);
  T y = a.r * a.r * exp_tail(a.r) + a.r;
  T power = power_of_two<T>(a.n - 2);  // a quarter of 2^n, as 2^n itself may be infinite
  T result = T(2) * (power * y + (power - T(0.25)));
  return abs(x) < T(1e-30) ? x * T(0.5) : result;
}

// x = (1 + f) 2^k with 1 + f in [sqrt(1/2), sqrt(2)).
template <class T>
struct Split {
  T f, k;
};
template <class T>
TW_INLINE Split<T> split_exponent(T x) {
  constexpr word_t<T> one = std::bit_cast<word_t<T>>(T(1)),
                      root = std::bit_cast<word_t<T>>(T(0.70710678118654752440));
  constexpr word_t<T> mantissa_mask = (word_t<T>{1} << Bits<T>::mantissa) - 1;
  constexpr T magic = is_single<T> ? T(0x1p23) : T(0x1p52);
  constexpr word_t<T> magic_bits = std::bit_cast<word_t<T>>(magic);
  bool denormal = x < std::numeric_limits<T>::min();
  x = denormal ? x * (magic * 4) : x;
  word_t<T> shifted = bits_of(x) + (one - root);
  // The exponent becomes a float by standing below a power of two: 64-bit conversions do not vectorise
  // everywhere.
  T biased = from_bits<T>((shifted >> Bits<T>::mantissa) | magic_bits) - magic;
  T k = biased - (denormal ? T(Bits<T>::bias + Bits<T>::mantissa + 2) : T(Bits<T>::bias));
  return {from_bits<T>((shifted & mantissa_mask) + root) - T(1), k};
}

// What log(1 + f) + low falls short of f: f^2/2 - s (f^2/2 + z tail(z)) - low, where s = f / (2 + f) and z =
// s^2.
template <class T>
TW_INLINE T log_shortfall(T f, T low) {
  T s = f / (T(2) + f), z = s * s, half_square = T(0.5) * f * f;
  T tail;
  if constexpr (is_single<T>)
    tail = polynomial(z, kLogFloat);
  else
    tail = polynomial(z, kLogDouble);
  return half_square - (s * (half_square + z * tail) + low);
}

// The logarithm of 0, of negative numbers, of infinity and of NaN; `result` for the others.
template <class T>
TW_INLINE T log_edges(T x, T result) {
  result = x == kInf<T> ? x : result;
  return x > T(0) ? result : (x == T(0) ? -kInf<T> : kNan<T>);
}

}  // namespace detail

template <class T>
TW_INLINE T exp(T x) {
  return detail::exp_scaled(x, T(0), detail::word_t<T>{0});
}

// exp(x) for x <= 0 at half the cost: 0 where the power of two beside it would be denormal.
template <class T>
TW_INLINE T exp_nonpositive(T x) {
  using namespace detail;
  constexpr T low = is_single<T> ? T(-88) : T(-709);  // where that power is 0
  x = x < low ? low : x;
  PowerOfTwo<T> n(x * T(1.4426950408889634074));
  T r = (x - n.whole * kLn2High<T>)-n.whole * kLn2Low<T>;
  return ((exp_tail(r) * r + T(1)) * r + T(1)) * n.power();
}

template <class T>
TW_INLINE T exp2(T x) {
  using namespace detail;
  T limited = is_single<T> ? clamp_exponent(x, T(-200), T(200)) : clamp_exponent(x, T(-1200), T(1200));
  Rounded<T> n = round_to_whole(limited);
  T r = limited - n.value, y;
  if constexpr (is_single<T>)
    y = polynomial(r, kExp2Float);
  else
    y = polynomial(r, kExp2Double);
  return scale(T(1) + r * y, n.word);
}

template <class T>
TW_INLINE T expm1(T x) {
  return detail::abs(x) < T(1e-30) ? x : T(2) * detail::half_expm1(x);
}

template <class T>
TW_INLINE T log(T x) {
  using namespace detail;
  Split<T> a = split_exponent(x);
  return log_edges(x, a.k * kLn2High<T> - (log_shortfall(a.f, a.k * kLn2Low<T>) - a.f));
}

template <class T>
TW_INLINE T log1p(T x) {
  using namespace detail;
  T u = T(1) + x;
  T lost = x >= T(1) ? T(1) - (u - x) : x - (u - T(1));  // of x, in u
  Split<T> a = split_exponent(u);
  T result = a.k * kLn2High<T> - (log_shortfall(a.f, a.k * kLn2Low<T> + lost / u) - a.f);
  return x == T(0) ? x : log_edges(u, result);
}

template <class T>
TW_INLINE T log2(T x) {
  using namespace detail;
  if constexpr (is_single<T>) {
    return static_cast<T>(log2(static_cast<double>(x)));
  } else {
    Split<T> a = split_exponent(x);
    T log_f = a.f - log_shortfall(a.f, T(0));
    return log_edges(x, a.k + (log_f * 1.4426950408889634074 + log_f * 0x1.777d0ffda0d24p-56));
  }
}

template <class T>
TW_INLINE T log10(T x) {
  using namespace detail;
  if constexpr (is_single<T>) {
    return static_cast<T>(log10(static_cast<double>(x)));
  } else {
    constexpr T log2_high = 0x1.34413508p-2, log2_low = 0x1.f79fef311f12bp-34;
    Split<T> a = split_exponent(x);
    T log_f = a.f - log_shortfall(a.f, T(0));
    T low = a.k * log2_low + log_f * 0x1.95355baaafad3p-57;
    return log_edges(x, a.k * log2_high + (log_f * 0.43429448190325182765 + low));
  }
}

template <class T>
TW_INLINE T sinh(T x) {
  T half = detail::half_expm1(detail::abs(x));
  T size = half > T(1e18) ? half : half + half / (T(2) * half + T(1));
  return detail::copy_sign(size, x);
}

template <class T>
TW_INLINE T cosh(T x) {
  T half = detail::exp_scaled(detail::abs(x), T(0), ~detail::word_t<T>{0});
  return half + T(0.25) / half;
}

template <class T>
TW_INLINE T tanh(T x) {
  T a = detail::abs(x);
  T half = detail::half_expm1(T(2) * (a > T(20) ? T(20) : a));
  return detail::copy_sign(half / (half + T(1)), x);
}

TW_INLINE double asinh(double x) {
  double a = detail::abs(x), square = a * a;
  bool big = a > 1e17;  // where the square might overflow; 2 a is all that counts
  double y = log1p(big ? a : a + square / (1 + std::sqrt(1 + square))) + (big ? 0.69314718055994530942 : 0);
  return detail::copy_sign(y, x);
}
TW_BY_WAY_OF_DOUBLE(asinh)

TW_INLINE double acosh(double x) {
  bool big = x > 1e17;
  double t = x - 1;
  double y = log1p(big ? x : t + std::sqrt(2 * t + t * t)) + (big ? 0.69314718055994530942 : 0);
  return x < 1 ? detail::kNan<double> : y;
}
TW_BY_WAY_OF_DOUBLE(acosh)

TW_INLINE double atanh(double x) {
  double a = detail::abs(x);
  return detail::copy_sign(0.5 * log1p(2 * a / (1 - a)), x);
}
TW_BY_WAY_OF_DOUBLE(atanh)

template <class T>
TW_INLINE T sigmoid(T x) {
  T e = exp_nonpositive(-detail::abs(x));
  return (x < T(0) ? e : T(1)) / (T(1) + e);
}

// log(1 + exp(x)) without overflow.
template <class T>
TW_INLINE T softplus(T x) {
  T positive = x < T(0) ? T(0) : x;
  return positive + log1p(exp(-detail::abs(x)));
}
template <class T>
TW_INLINE T log_sigmoid(T x) {
  return -softplus(-x);
}

// |x|^y by way of double, then what the signs, zeros and infinities of IEEE 754's pow ask for.
TW_INLINE float pow(float x, float y) {
  double size = exp(static_cast<double>(y) * log(detail::abs(static_cast<double>(x))));
  float a = detail::abs(y);
  float half = a * 0.5f;
  // Whole and odd: from 2^24 on every float is even.
  float whole = (a + 0x1p23f) - 0x1p23f, half_whole = (half + 0x1p23f) - 0x1p23f;
  bool is_whole = (a >= 0x1p23f) | (whole == a);
  bool is_odd = (a < 0x1p24f) & is_whole & !((half >= 0x1p23f) | (half_whole == half));
  float result = static_cast<float>(size);
  result = is_odd & detail::is_negative(x) ? -result : result;
  result = (x < 0) & !is_whole & (x > -detail::kInf<float>) ? detail::kNan<float> : result;
  result = (x == -1) & (a == detail::kInf<float>) ? 1 : result;
  return (x == 1) | (y == 0) ? 1 : result;
}
TW_INLINE double pow(double x, double y) { return std::pow(x, y); }

namespace detail {

TW_INLINE bool any_infinite(double a, double b) {  // beside a NaN too
  return abs(a) == std::numeric_limits<double>::infinity() ||
         abs(b) == std::numeric_limits<double>::infinity();
}

}  // namespace detail

// Vectorises, unlike libm's, whose symbol would also ask for a younger C library (2.35) than all else does.
TW_INLINE double hypot(double a, double b) {
  double first = detail::abs(a), second = detail::abs(b), larger = first < second ? second : first;
  double scale = larger > 0x1p500 ? 0x1p-600 : larger < 0x1p-500 ? 0x1p600 : 1;
  double x = a * scale, y = b * scale;
  double root = std::sqrt(x * x + y * y) / scale;
  return detail::any_infinite(a, b) ? std::numeric_limits<double>::infinity() : root;
}
TW_INLINE float hypot(float a, float b) {
  double x = a, y = b;  // whose squares stay in range
  double root = std::sqrt(x * x + y * y);
  return static_cast<float>(detail::any_infinite(x, y) ? std::numeric_limits<double>::infinity() : root);
}

}  // namespace tw::math
