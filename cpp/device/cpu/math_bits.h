// What the elementary functions share: the bits of floats, polynomials, rounding, scaling by powers of two.
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

// 2^n where n is the whole number next to t, for t <= 0 and down to where 2^n is no normal number any more: 0
// there.
template <class T>
struct PowerOfTwo {
  T whole;
  TW_INLINE explicit PowerOfTwo(T t) : whole(t + kMagic), word_(bits_of(whole)) { whole -= kMagic; }
  TW_INLINE T power() const { return from_bits<T>(word_ << Bits<T>::mantissa); }

 private:
  static constexpr T kMagic = Bits<T>::round_magic + Bits<T>::bias;  // its low bits: the exponent of 1
  word_t<T> word_;
};

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

}  // namespace detail

// The function of float that is rare, by way of the one of double.
#define TW_BY_WAY_OF_DOUBLE(NAME) \
  TW_INLINE float NAME(float x) { return static_cast<float>(NAME(static_cast<double>(x))); }

}  // namespace tw::math
