// See division.cc. Integers are divided by 0 by nobody: that is an error, which the kernels tell of.
#pragma once

#include <cmath>
#include <type_traits>

#include "base/formula.h"

namespace tw::ops {

// The quotient of ints; -1 apart, as the least int has no negative and processors may trap.
template <class T>
TW_FORMULA T wrapping_divide(T a, T b) {
  if constexpr (std::is_signed_v<T>) {
    if (b == T(-1)) return static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(a));
  }
  return static_cast<T>(a / b);
}
template <class T>
TW_FORMULA T wrapping_modulo(T a, T b) {
  if constexpr (std::is_signed_v<T>) {
    if (b == T(-1)) return 0;
  }
  return static_cast<T>(a % b);
}
// Is a quotient rounded towards zero too high by one?
template <class T>
TW_FORMULA bool differs_from_floor(T rest, T b) {
  return rest != 0 && (rest < 0) != (b < 0);
}

struct TrueDivideFormula {
  template <class C>
  TW_FORMULA C operator()(C a, C b) const {
    return a / b;
  }
};

struct TruncDivideFormula {
  template <class T>
  TW_FORMULA T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>)
      return std::trunc(a / b);
    else
      return wrapping_divide(a, b);
  }
};

// By way of the remainder, so that a / b just below a whole number is not rounded up to it.
struct FloorDivideFormula {
  template <class T>
  TW_FORMULA T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      if (b == 0) return a / b;
      T rest = std::fmod(a, b);
      T ratio = (a - rest) / b;
      if (differs_from_floor(rest, b)) ratio -= 1;
      if (ratio == 0) return std::copysign(T(0), a / b);
      T whole = std::floor(ratio);
      return ratio - whole > T(0.5) ? whole + 1 : whole;
    } else {
      return static_cast<T>(wrapping_divide(a, b) - differs_from_floor(wrapping_modulo(a, b), b));
    }
  }
};

struct FmodFormula {
  template <class T>
  TW_FORMULA T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>)
      return std::fmod(a, b);
    else
      return wrapping_modulo(a, b);
  }
};

struct RemainderFormula {
  template <class T>
  TW_FORMULA T operator()(T a, T b) const {
    T rest = FmodFormula()(a, b);
    return differs_from_floor(rest, b) ? static_cast<T>(rest + b) : rest;
  }
};

// divisions: of reals, whose kernels look for zeros.
template <class Ops>
void add_division(Ops ops) {
  ops.floats_and_complex("true_divide", TrueDivideFormula());
  ops.divisions("trunc_divide", TruncDivideFormula());
  ops.divisions("floor_divide", FloorDivideFormula());
  ops.divisions("remainder", RemainderFormula());
  ops.divisions("fmod", FmodFormula());
}

}  // namespace tw::ops
