// Ops that are one function of floating elements, in float for the half types:
//
//   TW_FUNCTION(Exp, std::exp(x))
//   table.add("exp", unary_kernel<Exp>);
//
// Those of complex numbers too have a second form, of a WideComplex (complex_functions.h):
//
//   TW_COMPLEX_FUNCTION(Exp, std::exp(x), exp(z))
#pragma once

#include <cmath>

#include "base/gamma.h"
#include "cuda/common/complex_functions.h"
#include "cuda/common/pointwise.h"

namespace tw::cuda {

#define TW_FUNCTION(NAME, ...)          \
  struct NAME {                         \
    template <class C>                  \
    TW_DEVICE C operator()(C x) const { \
      return __VA_ARGS__;               \
    }                                   \
  };
#define TW_COMPLEX_FUNCTION(NAME, REAL, COMPLEX)                               \
  struct NAME {                                                                \
    template <class C>                                                         \
    TW_DEVICE C operator()(C x) const {                                        \
      return REAL;                                                             \
    }                                                                          \
    TW_DEVICE static WideComplex of_complex(WideComplex z) { return COMPLEX; } \
  };
// Of a gradient g and an input or a result.
#define TW_BINARY_FUNCTION(NAME, ...)        \
  struct NAME {                              \
    template <class C>                       \
    TW_DEVICE C operator()(C g, C x) const { \
      return __VA_ARGS__;                    \
    }                                        \
  };

template <class F>
void unary_kernel(device::KernelContext& k) {
  if constexpr (requires { &F::of_complex; }) {
    if (is_complex(k.out().dtype))
      return dispatch_device_complex(k.out().dtype, [&]<class C>() { pointwise<C, C>(k, OfComplex<F>()); });
  }
  dispatch_float(k.out().dtype, k.op, [&]<class T>() { pointwise<T, T>(k, F()); });
}
template <class F>
void binary_kernel(device::KernelContext& k) {
  if constexpr (requires { &F::of_complex; }) {
    if (is_complex(k.out().dtype))
      return dispatch_device_complex(k.out().dtype,
                                     [&]<class C>() { pointwise<C, C, C>(k, OfComplex<F>()); });
  }
  dispatch_float(k.out().dtype, k.op, [&]<class T>() { pointwise<T, T, T>(k, F()); });
}

// |x| and what the upper tail of the normal distribution beyond it is made of: exp(-x²/2), and the tail over
// that.
template <class C>
struct NormalTail {
  C size, bell, mills;
};

// The device's elementary functions as a type, for formulas that are templates over the functions they use
// (base/formula.h).
struct Functions {
  template <class C>
  TW_BOTH static C exp(C x) {
    return std::exp(x);
  }
  template <class C>
  TW_BOTH static C exp_nonpositive(C x) {
    return std::exp(x);
  }
  template <class C>
  TW_BOTH static C expm1(C x) {
    return std::expm1(x);
  }
  template <class C>
  TW_BOTH static C log(C x) {
    return std::log(x);
  }
  template <class C>
  TW_BOTH static C log1p(C x) {
    return std::log1p(x);
  }
  template <class C>
  TW_BOTH static C tanh(C x) {
    return std::tanh(x);
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
