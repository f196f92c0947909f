// Trigonometric functions and their inverses; see math.h.
#pragma once

#include "device/cpu/math_bits.h"
#include "device/cpu/math_coefficients.h"

namespace tw::math {

// Up to here the multiples of pi / 2 below are exact.
inline constexpr double kTrigLimit = 1e6;

namespace detail {

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

}  // namespace detail

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

}  // namespace tw::math
