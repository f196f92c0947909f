// See exponential.cc. M: the functions used.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "base/formula.h"
#include "ops/complex_formula.h"
#include "ops/pointwise/arithmetic_formula.h"

namespace tw::ops {

inline constexpr double kLn2 = 0.6931471805599453;

// REAL of x, COMPLEX of z in double.
#define TW_FUNCTION(NAME, REAL, COMPLEX)  \
  template <class M>                      \
  struct NAME {                           \
    template <class C>                    \
    TW_FORMULA C operator()(C x) const {  \
      return REAL;                        \
    }                                     \
    template <class Z>                    \
    TW_FORMULA static Z of_complex(Z z) { \
      return COMPLEX;                     \
    }                                     \
  };

TW_FUNCTION(ExpFormula, M::exp(x), exp(z))
TW_FUNCTION(Exp2Formula, M::exp2(x), exp(complex_times(z, kLn2)))
TW_FUNCTION(Expm1Formula, M::expm1(x), complex_expm1(z))
TW_FUNCTION(LogFormula, M::log(x), log(z))
TW_FUNCTION(Log2Formula, M::log2(x), complex_times(log(z), 1 / kLn2))
TW_FUNCTION(Log10Formula, M::log10(x), log10(z))
TW_FUNCTION(Log1pFormula, M::log1p(x), complex_log1p(z))
TW_FUNCTION(SqrtFormula, std::sqrt(x), sqrt(z))
TW_FUNCTION(RsqrtFormula, C(1) / std::sqrt(x), Z(1) / sqrt(z))
TW_FUNCTION(ReciprocalFormula, C(1) / x, Z(1) / z)

#undef TW_FUNCTION

// Bools become integers.
struct SquareFormula {
  template <class C>
  TW_FORMULA auto operator()(C x) const {
    if constexpr (std::is_same_v<C, bool>)
      return int64_t{x};
    else
      return times(x, x);
  }
};

template <class Ops>
void add_exponential(Ops ops) {
  using M = typename Ops::Functions;
  ops.floats("exp", ExpFormula<M>());
  ops.floats("exp2", Exp2Formula<M>());
  ops.floats("expm1", Expm1Formula<M>());
  ops.floats("log", LogFormula<M>());
  ops.floats("log2", Log2Formula<M>());
  ops.floats("log10", Log10Formula<M>());
  ops.floats("log1p", Log1pFormula<M>());
  ops.floats("sqrt", SqrtFormula<M>());
  ops.floats("rsqrt", RsqrtFormula<M>());
  ops.floats("reciprocal", ReciprocalFormula<M>());
  ops.all("square", SquareFormula());
}

}  // namespace tw::ops
