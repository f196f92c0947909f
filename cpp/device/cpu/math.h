// Elementary functions for float and double that vectorise: no branches, no tables, no calls (but for those
// named below), to be used in loops under TW_CLONES. The right results for infinities, NaN, denormals and
// signed zeros.
//
// Bounds of the error in units of the last place, held by tests/cpp/device/math_test.cc:
//   float    1: log log1p log2 log10 sin cos tan asin acos atan atan2 asinh acosh atanh erfc erfinv pow
//            1.5: exp exp2 cosh   2: expm1 softplus   2.5: sinh tanh sigmoid   3: erf
//   double   1: log log1p sin cos   1.5: exp exp2   2: expm1 log2 log10 cosh acosh asinh atan erf softplus
//            2.5: sinh tanh tan atanh asin acos atan2 sigmoid   3: erfc erfinv
// exp_nonpositive is as exact as exp, but gives 0 for x below -87 (float) and -708; sigmoid does likewise.
// Functions of float that are rare compute in double, at about half the speed.
// sin, cos and tan hold for |x| <= kTrigLimit. Beyond it they are wrong: kernels give pointwise_loop the
// functors Sin, Cos and Tan, whose `special` sends such elements to the C library. pow of double, lgamma and
// digamma are scalar (the first two by the C library).
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "device/cpu/clones.h"
#include "device/cpu/math_coefficients.h"

namespace tw::math {

// Up to here the multiples of pi / 2 below are exact.
inline constexpr double kTrigLimit = 1e6;

namespace detail {

template <class T>
inline constexpr bool is_single = std::is_same_v<T, float>;

template <class T>
inline constexpr T kInf = std::numeric_limits<T>::infinity();
template <class T>
inline constexpr T kNan = std::numeric_limits<T>::quiet_NaN();

// The bits of a float type: the unsigned word, the mantissa's width and the exponent's bias.
template <class T>
struct Bits;
template <>
struct Bits<float> {
  using Word = uint32_t;
  static constexpr int mantissa = 23, bias = 127;
  static constexpr float round_magic = 0x1.8p23f;
};
template <>
struct Bits<double> {
  using Word = uint64_t;
  static constexpr int mantissa = 52, bias = 1023;
  static constexpr double round_magic = 0x1.8p52;
};
template <class T>
using word_t = typename Bits<T>::Word;

template <class T>
TW_INLINE word_t<T> bits_of(T x) {
  return std::bit_cast<word_t<T>>(x);
}
template <class T>
TW_INLINE T from_bits(word_t<T> bits) {
  return std::bit_cast<T>(bits);
}
template <class T>
TW_INLINE T abs(T x) {
  return from_bits<T>(bits_of(x) & (~word_t<T>{0} >> 1));
}
template <class T>
TW_INLINE T copy_sign(T size, T sign) {
  constexpr word_t<T> rest = ~word_t<T>{0} >> 1;
  return from_bits<T>((bits_of(size) & rest) | (bits_of(sign) & ~rest));
}
template <class T>
TW_INLINE bool is_negative(T x) {
  return bits_of(x) >> (sizeof(T) * 8 - 1) != 0;
}

// c[0] + c[1] x + c[2] x^2 + ..., unrolled before the vectoriser looks at it.
template <class T, class C, size_t... I>
TW_INLINE T horner(T x, const std::array<C, sizeof...(I) + 1>& c, std::index_sequence<I...>) {
  constexpr size_t last = sizeof...(I);
  T y = c[last];
  ((y = y * x + static_cast<T>(c[last - 1 - I])), ...);
  return y;
}
template <class T, class C, size_t N>
TW_INLINE T polynomial(T x, const std::array<C, N>& c) {
  return horner(x, c, std::make_index_sequence<N - 1>{});
}

// The nearest whole number, and the same as a word (two's complement). |x| must be far below 2^mantissa.
template <class T>
struct Rounded {
  T value;
  word_t<T> word;
};
template <class T>
TW_INLINE Rounded<T> round_to_whole(T x) {
  T shifted = x + Bits<T>::round_magic;
  return {shifted - Bits<T>::round_magic, bits_of(shifted) - bits_of(Bits<T>::round_magic)};
}

// 2^n for a word n in two's complement within the exponents of normal numbers.
template <class T>
TW_INLINE T power_of_two(word_t<T> n) {
  return from_bits<T>((n + Bits<T>::bias) << Bits<T>::mantissa);
}

// x 2^n in two steps, so that results that overflow or are denormal round once.
template <class T>
TW_INLINE T scale(T x, word_t<T> n) {
  constexpr word_t<T> offset =
      4096;  // makes n positive for the shift: 64-bit arithmetic shifts do not vectorise
  word_t<T> half = ((n + offset) >> 1) - offset / 2;
  return x * power_of_two<T>(half) * power_of_two<T>(n - half);
}

// Limits the argument to where the exponent stays within reach of `scale`; keeps NaN.
template <class T>
TW_INLINE T clamp_exponent(T x, T low, T high) {
  x = x < low ? low : x;
  return x > high ? high : x;
}

// x = n ln 2 + r. The high part of ln 2 has so few bits that its product with n is exact.
template <class T>
struct Reduced {
  T r;
  word_t<T> n;
};
template <class T>
TW_INLINE Reduced<T> reduce_by_ln2(T x, T low = 0) {
  constexpr T inverse = T(1.4426950408889634074);
  constexpr T ln2_high = is_single<T> ? T(0x1.62e4p-1) : T(0x1.62e42fee00000p-1);
  constexpr T ln2_low = is_single<T> ? T(0x1.7f7d1cp-20) : T(0x1.a39ef35793c76p-33);
  Rounded<T> n = round_to_whole(x * inverse);
  return {(x - n.value * ln2_high) - (n.value * ln2_low - low), n.word};
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

template <class T>
inline constexpr T kLn2High = is_single<T> ? T(0x1.62e4p-1) : T(0x1.62e42fee00000p-1);
template <class T>
inline constexpr T kLn2Low = is_single<T> ? T(0x1.7f7d1cp-20) : T(0x1.a39ef35793c76p-33);

// The logarithm of 0, of negative numbers, of infinity and of NaN; `result` for the others.
template <class T>
TW_INLINE T log_edges(T x, T result) {
  result = x == kInf<T> ? x : result;
  return x > T(0) ? result : (x == T(0) ? -kInf<T> : kNan<T>);
}

// x = n pi/2 + r + low, |r| <= pi/4 (a little more by rounding).
struct Quarter {
  double r, low;
  uint64_t n;
};
TW_INLINE Quarter reduce_by_half_pi(double x) {
  // pi/2 in parts of 33 bits: exact when multiplied by n
  constexpr double part1 = 0x1.921fb544p+0, part2 = 0x1.0b4611a6p-34, part3 = 0x1.3198a2ep-69,
                   part4 = 0x1.b839a252049c1p-104;
  Rounded<double> n = round_to_whole(x * 0.63661977236758134308);
  double a = x - n.value * part1;
  double b = n.value * part2, c = a - b, lost = (a - c) - b;
  double d = n.value * part3, e = c - d;
  lost += (c - e) - d;
  lost -= n.value * part4;
  double r = e + lost;
  return {r, lost - (r - e), n.word};
}

// sin and cos of r + low; with the coefficients for float, when that is all that is wanted.
template <class T>
TW_INLINE double sin_reduced(double r, double low) {
  double z = r * r, tail;
  if constexpr (is_single<T>)
    tail = polynomial(z, kSinFloat);
  else
    tail = polynomial(z, kSinDouble);
  return r + (z * r * tail + low * (1 - 0.5 * z));
}
template <class T>
TW_INLINE double cos_reduced(double r, double low) {
  double z = r * r, half = 0.5 * z, w = 1 - half, tail;
  if constexpr (is_single<T>)
    tail = polynomial(z, kCosFloat);
  else
    tail = polynomial(z, kCosDouble);
  return w + (((1 - w) - half) + (z * z * tail - r * low));
}
// The function at `quarter` quarter turns on: sin for 0, cos for 1.
template <class T>
TW_INLINE T sin_at(T x, uint64_t quarter) {
  Quarter a = reduce_by_half_pi(x);
  double sine = sin_reduced<T>(a.r, a.low), cosine = cos_reduced<T>(a.r, a.low);
  uint64_t n = a.n + quarter;
  double y = (n & 1) != 0 ? cosine : sine;
  return static_cast<T>(from_bits<double>(bits_of(y) ^ (n & 2) << 62));
}

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

template <class T>
TW_INLINE T exp(T x) {
  return detail::exp_scaled(x, T(0), detail::word_t<T>{0});
}

// exp(x) for x <= 0 at half the cost: what would be denormal is 0.
template <class T>
TW_INLINE T exp_nonpositive(T x) {
  using namespace detail;
  constexpr T low = is_single<T> ? T(-87) : T(-708);
  Reduced<T> a = reduce_by_ln2(x < low ? low : x);
  T y = (a.r * a.r * exp_tail(a.r) + a.r) + T(1);
  return x < low ? T(0) : y * power_of_two<T>(a.n);
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
TW_INLINE T sin(T x) {
  return x == T(0) ? x : detail::sin_at(x, 0);
}

template <class T>
TW_INLINE T cos(T x) {
  return detail::sin_at(x, 1);
}

template <class T>
TW_INLINE T tan(T x) {
  using namespace detail;
  Quarter a = reduce_by_half_pi(x);
  double sine = sin_reduced<T>(a.r, a.low), cosine = cos_reduced<T>(a.r, a.low);
  bool odd = (a.n & 1) != 0;
  double top = odd ? -cosine : sine, bottom = odd ? sine : cosine;
  return x == T(0) ? x : static_cast<T>(top / bottom);
}

// For pointwise_loop: elements that are `special` are computed by `slow`.
struct Trigonometric {
  template <class T>
  TW_INLINE static bool special(T x) {
    return detail::abs(x) > T(kTrigLimit);
  }
};
struct Sin : Trigonometric {
  template <class T>
  TW_INLINE T operator()(T x) const {
    return math::sin(x);
  }
  template <class T>
  static T slow(T x) {
    return std::sin(x);
  }
};
struct Cos : Trigonometric {
  template <class T>
  TW_INLINE T operator()(T x) const {
    return math::cos(x);
  }
  template <class T>
  static T slow(T x) {
    return std::cos(x);
  }
};
struct Tan : Trigonometric {
  template <class T>
  TW_INLINE T operator()(T x) const {
    return math::tan(x);
  }
  template <class T>
  static T slow(T x) {
    return std::tan(x);
  }
};

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

// Built on the functions above; for float by way of double.
#define TW_BY_WAY_OF_DOUBLE(NAME) \
  TW_INLINE float NAME(float x) { return static_cast<float>(NAME(static_cast<double>(x))); }

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

namespace detail {

inline constexpr double kHalfPi = 1.57079632679489661923, kHalfPiLow = 0x1.1a62633145c07p-54;

// asin(s) for s in [0, 1/2] is s + arc; also used for the others by asin(a) = pi/2 - 2 asin(sqrt((1 - a) /
// 2)).
struct Arc {
  double s, rest;
  bool far;
};
TW_INLINE Arc arc_sine(double a) {
  bool far = a > 0.5;
  double z = far ? 0.5 * (1 - a) : a * a;
  double s = far ? std::sqrt(z) : a;
  return {s, s * z * polynomial(z, kAsinDouble), far};
}

// atan(top / bottom) for top, bottom >= 0, not both 0 or infinite.
TW_INLINE double atan_ratio(double top, double bottom) {
  constexpr double high = 2.4142135623730950488, low = 0.41421356237309504880;  // tan of 3 pi/8 and of pi/8
  bool steep = top > high * bottom, middle = top > low * bottom;
  double t_top = steep ? -bottom : (middle ? top - bottom : top);
  double t_bottom = steep ? top : (middle ? top + bottom : bottom);
  double t = t_top / t_bottom, z = t * t;
  double turn = steep ? kHalfPi : (middle ? kHalfPi / 2 : 0),
         turn_low = steep ? kHalfPiLow : (middle ? kHalfPiLow / 2 : 0);
  return turn + (t + (t * z * polynomial(z, kAtanDouble) + turn_low));
}

}  // namespace detail

TW_INLINE double asin(double x) {
  detail::Arc arc = detail::arc_sine(detail::abs(x));
  double near = arc.s + arc.rest;
  double y = arc.far ? detail::kHalfPi - (2 * near - detail::kHalfPiLow) : near;
  return detail::copy_sign(y, x);
}
TW_BY_WAY_OF_DOUBLE(asin)

TW_INLINE double acos(double x) {
  detail::Arc arc = detail::arc_sine(detail::abs(x));
  double near = arc.s + arc.rest;
  double signed_near = detail::copy_sign(near, x);
  double inner = detail::kHalfPi - (signed_near - detail::kHalfPiLow);
  double outer = detail::is_negative(x) ? 2 * (detail::kHalfPi - (near - detail::kHalfPiLow)) : 2 * near;
  return arc.far ? outer : (x != x ? x : inner);
}
TW_BY_WAY_OF_DOUBLE(acos)

TW_INLINE double atan(double x) {
  double a = detail::abs(x);
  double y = a > 1e300 ? detail::kHalfPi : detail::atan_ratio(a, 1);
  return detail::copy_sign(y, x);
}
TW_BY_WAY_OF_DOUBLE(atan)

TW_INLINE double atan2(double y, double x) {
  double top = detail::abs(y), bottom = detail::abs(x);
  bool both_infinite = (top == detail::kInf<double>)&(bottom == detail::kInf<double>);
  bool both_zero = (top == 0) & (bottom == 0);
  // top + bottom must not overflow
  double factor = (top > 1e300) | (bottom > 1e300) ? 0.25 : 1;
  top = both_infinite ? 1 : top * factor;
  bottom = both_infinite | both_zero ? 1 : bottom * factor;
  double angle = detail::atan_ratio(top, bottom);
  angle = top == detail::kInf<double> ? detail::kHalfPi : angle;
  angle = detail::is_negative(x) ? 2 * detail::kHalfPi - (angle - 2 * detail::kHalfPiLow) : angle;
  return (x != x) | (y != y) ? detail::kNan<double> : detail::copy_sign(angle, y);
}
TW_INLINE float atan2(float y, float x) {
  return static_cast<float>(atan2(static_cast<double>(y), static_cast<double>(x)));
}

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

// log |gamma(x)|, by the C library's version that shares nothing between threads.
inline double lgamma(double x) {
  int sign;
  return ::lgamma_r(x, &sign);
}
inline float lgamma(float x) { return static_cast<float>(lgamma(static_cast<double>(x))); }

// The derivative of lgamma: reflection for negative x, recurrence up to 10, then the asymptotic series.
// Scalar. -inf at +0, inf at -0, NaN at the negative whole numbers and at -inf.
inline double digamma(double x) {
  if (x == 0) return std::copysign(detail::kInf<double>, -x);
  if (x < 0) {
    if (x == std::floor(x)) return detail::kNan<double>;
    double rest = x - std::trunc(x);  // keeps the tangent accurate for large |x|
    return digamma(1 - x) - M_PI / std::tan(M_PI * rest);
  }
  double sum = 0;
  for (; x < 10; x += 1) sum -= 1 / x;
  double z = 1 / (x * x);
  double series =
      z *
      (1.0 / 12 -
       z * (1.0 / 120 - z * (1.0 / 252 - z * (1.0 / 240 - z * (1.0 / 132 - z * (691.0 / 32760 - z / 12))))));
  return sum + (std::log(x) - 0.5 / x - series);
}
inline float digamma(float x) { return static_cast<float>(digamma(static_cast<double>(x))); }

#undef TW_BY_WAY_OF_DOUBLE

}  // namespace tw::math
