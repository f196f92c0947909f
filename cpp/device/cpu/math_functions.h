// The elementary functions of math.h as a type, for formulas that are templates over the functions they use
// (base/formula.h).
#pragma once

#include "device/cpu/math.h"

namespace tw::math {

struct Functions {
#define TW_MEMBER(NAME)          \
  template <class T>             \
  TW_INLINE static T NAME(T x) { \
    return ::tw::math::NAME(x);  \
  }
  TW_MEMBER(exp)
  TW_MEMBER(exp2)
  TW_MEMBER(exp_nonpositive)
  TW_MEMBER(expm1)
  TW_MEMBER(log)
  TW_MEMBER(log2)
  TW_MEMBER(log10)
  TW_MEMBER(log1p)
  TW_MEMBER(asin)
  TW_MEMBER(acos)
  TW_MEMBER(atan)
  TW_MEMBER(sinh)
  TW_MEMBER(cosh)
  TW_MEMBER(tanh)
  TW_MEMBER(asinh)
  TW_MEMBER(acosh)
  TW_MEMBER(atanh)
  TW_MEMBER(erf)
  TW_MEMBER(erfc)
  TW_MEMBER(erfinv)
  TW_MEMBER(lgamma)
  TW_MEMBER(sigmoid)
  TW_MEMBER(softplus)
#undef TW_MEMBER

  // These know arguments that they do not hold for.
  using Sin = math::Sin;
  using Cos = math::Cos;
  using Tan = math::Tan;

  template <class T>
  TW_INLINE static T atan2(T y, T x) {
    return math::atan2(y, x);
  }
  template <class T>
  TW_INLINE static T hypot(T a, T b) {
    return math::hypot(a, b);
  }
  template <class T>
  TW_INLINE static T pow(T x, T y) {
    return math::pow(x, y);
  }
  template <class T>
  TW_INLINE static NormalTail<T> normal_tail(T x) {
    return math::normal_tail(x);
  }
  // a b + c, in one rounding where the processor has such an instruction.
  template <class T>
  TW_INLINE static T multiply_add(T a, T b, T c) {
    return a * b + c;
  }
  // Of an angle in half turns, in [-0.5, 0.5).
  template <class T>
  TW_INLINE static T tan_of_half_turns(T half_turns) {
    return math::tan(T(3.141592653589793) * half_turns);
  }
  // Of an angle in whole turns, in [0, 1).
  template <class T>
  TW_INLINE static void unit_circle(T turns, T& cosine, T& sine) {
    T angle = T(6.283185307179586) * turns;
    cosine = math::cos(angle);
    sine = math::sin(angle);
  }
};

}  // namespace tw::math
