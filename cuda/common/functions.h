// The device's elementary functions as a type, for formulas that are templates over the functions they use
// (base/formula.h).
#pragma once

#include <cmath>

#include "cuda/common/platform.h"

namespace tw::cuda {

// |x| and what the upper tail of the normal distribution beyond it is made of: exp(-x²/2), and the tail over
// that.
template <class C>
struct NormalTail {
  C size, bell, mills;
};

struct Functions {
#define TW_MEMBER(NAME)        \
  template <class C>           \
  TW_BOTH static C NAME(C x) { \
    return std::NAME(x);       \
  }
  TW_MEMBER(exp)
  TW_MEMBER(exp2)
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
  TW_MEMBER(lgamma)
#undef TW_MEMBER
#define TW_FUNCTOR(NAME, FUNCTION)    \
  struct NAME {                       \
    template <class C>                \
    TW_BOTH C operator()(C x) const { \
      return std::FUNCTION(x);        \
    }                                 \
  };
  TW_FUNCTOR(Sin, sin)
  TW_FUNCTOR(Cos, cos)
  TW_FUNCTOR(Tan, tan)
#undef TW_FUNCTOR
  template <class C>
  TW_BOTH static C atan2(C y, C x) {
    return std::atan2(y, x);
  }
  template <class C>
  TW_BOTH static C hypot(C a, C b) {
    return std::hypot(a, b);
  }
  template <class C>
  TW_BOTH static C exp_nonpositive(C x) {
    return std::exp(x);
  }
  template <class C>
  TW_BOTH static C pow(C x, C y) {
    return std::pow(x, y);
  }
  template <class C>
  TW_BOTH static C sigmoid(C x) {
    return C(1) / (C(1) + std::exp(-x));
  }
  // log(1 + exp(x)) without overflow.
  template <class C>
  TW_BOTH static C softplus(C x) {
    C rest = std::log1p(std::exp(-std::fabs(x)));
    return x > C(0) ? x + rest : rest;
  }
  template <class C>
  TW_BOTH static NormalTail<C> normal_tail(C x) {
    constexpr C kFar = sizeof(C) == 8 ? C(39) : C(14.5);  // from where on exp(-x²/2) is 0
    C size = std::fabs(x);
    size = size > kFar ? kFar : size;
    C square = size * size, lost = std::fma(size, size, -square);  // by rounding, which the exponential shows
    C bell = std::exp(C(-0.5) * square) * std::fma(C(-0.5), lost, C(1));
    if constexpr (sizeof(C) == 8)
      return {size, bell, C(0.5) * erfcx(size * C(0.7071067811865476))};
    else
      return {size, bell, C(0.5) * erfcxf(size * C(0.7071067811865476))};
  }
  template <class C>
  TW_BOTH static C erfinv(C x) {
    if constexpr (sizeof(C) == 8)
      return ::erfinv(x);
    else
      return ::erfinvf(x);
  }
  // a b + c in one rounding, as on CPUs that have such an instruction.
  template <class C>
  TW_BOTH static C multiply_add(C a, C b, C c) {
    return std::fma(a, b, c);
  }
  // Of an angle in half turns, in [-0.5, 0.5): no large angle has to be reduced.
  template <class C>
  TW_BOTH static C tan_of_half_turns(C half_turns) {
    C cosine, sine;
    unit_circle(C(0.5) * half_turns, cosine, sine);
    return sine / cosine;
  }
  // Of an angle in whole turns.
  template <class C>
  TW_BOTH static void unit_circle(C turns, C& cosine, C& sine) {
    if constexpr (sizeof(C) == 8)
      sincospi(C(2) * turns, &sine, &cosine);
    else
      sincospif(C(2) * turns, &sine, &cosine);
  }
};

}  // namespace tw::cuda
