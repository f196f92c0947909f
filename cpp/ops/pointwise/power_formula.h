// See power.cc. M: the functions used.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "base/formula.h"

namespace tw::ops {

template <class T>
TW_FORMULA T int_power(T base, T exponent) {
  if constexpr (std::is_signed_v<T>) {
    if (exponent < 0) {
      if (base == T(1)) return 1;
      if (base == T(-1)) return exponent % 2 ? T(-1) : T(1);
      return 0;
    }
  }
  // In uint64, where overflow wraps around.
  uint64_t result = 1, square = static_cast<uint64_t>(base);
  for (auto left = static_cast<uint64_t>(exponent); left; left >>= 1) {
    if (left & 1) result *= square;
    square *= square;
  }
  return static_cast<T>(result);
}

// Exponents that need no logarithm: 2, 3, 1/2, -1/2, -1.
enum class ShortPower { kNone, kSquare, kCube, kRoot, kInverseRoot, kInverse };

// Integers have the first two alone, complex numbers too.
template <class C>
TW_FORMULA ShortPower short_power(C exponent) {
  if (exponent == C(2)) return ShortPower::kSquare;
  if (exponent == C(3)) return ShortPower::kCube;
  if constexpr (std::is_floating_point_v<C>) {
    if (exponent == C(0.5)) return ShortPower::kRoot;
    if (exponent == C(-0.5)) return ShortPower::kInverseRoot;
    if (exponent == C(-1)) return ShortPower::kInverse;
  }
  return ShortPower::kNone;
}
// base to the power of `kind`, which is not kNone.
template <class C>
TW_FORMULA C raise_shortly(C base, ShortPower kind) {
  if (kind == ShortPower::kSquare) return base * base;
  if constexpr (std::is_floating_point_v<C>) {
    if (kind == ShortPower::kRoot) return std::sqrt(base);
    if (kind == ShortPower::kInverseRoot) return C(1) / std::sqrt(base);
    if (kind == ShortPower::kInverse) return C(1) / base;
  }
  return base * base * base;
}

template <class M>
struct PowerFormula {
  template <class C>
  TW_FORMULA C operator()(C base, C exponent) const {
    if constexpr (std::is_integral_v<C>)
      return int_power(base, exponent);
    else
      return M::pow(base, exponent);
  }
};

struct SquareBackwardFormula {
  template <class C>
  TW_FORMULA C operator()(C g, C base) const {
    return g * (C(2) * base);
  }
};
template <class M>
struct PowerBackwardFormula {
  template <class C>
  TW_FORMULA C operator()(C g, C base, C exponent) const {
    C slope = g * (exponent * M::pow(base, exponent - C(1)));
    return exponent == C(0) ? C(0) : slope;
  }
};

}  // namespace tw::ops
