// See trigonometric.cc. M: the functions used.
#pragma once

#include <cmath>

#include "base/formula.h"
#include "ops/complex_formula.h"

namespace tw::ops {

// The function of x, in double of a complex z.
#define TW_FUNCTION(NAME, FUNCTION)       \
  template <class M>                      \
  struct NAME {                           \
    template <class C>                    \
    TW_FORMULA C operator()(C x) const {  \
      return M::FUNCTION(x);              \
    }                                     \
    template <class Z>                    \
    TW_FORMULA static Z of_complex(Z z) { \
      return FUNCTION(z);                 \
    }                                     \
  };
// The functor M::BASE, which may know arguments that it does not hold for (device/cpu/loops.h).
#define TW_PERIODIC_FUNCTION(NAME, BASE, FUNCTION) \
  template <class M>                               \
  struct NAME : M::BASE {                          \
    template <class Z>                             \
    TW_FORMULA static Z of_complex(Z z) {          \
      return FUNCTION(z);                          \
    }                                              \
  };

TW_PERIODIC_FUNCTION(SinFormula, Sin, sin)
TW_PERIODIC_FUNCTION(CosFormula, Cos, cos)
TW_PERIODIC_FUNCTION(TanFormula, Tan, tan)
TW_FUNCTION(AsinFormula, asin)
TW_FUNCTION(AcosFormula, acos)
TW_FUNCTION(AtanFormula, atan)
TW_FUNCTION(SinhFormula, sinh)
TW_FUNCTION(CoshFormula, cosh)
TW_FUNCTION(TanhFormula, tanh)
TW_FUNCTION(AsinhFormula, asinh)
TW_FUNCTION(AcoshFormula, acosh)
TW_FUNCTION(AtanhFormula, atanh)

#undef TW_FUNCTION
#undef TW_PERIODIC_FUNCTION

// By the C library's sine: far from 0 the argument pi x is beyond where M's holds.
struct SincFormula {
  template <class C>
  TW_FORMULA C operator()(C x) const {
    C turn = C(3.141592653589793) * x;
    return x == C(0) ? C(1) : std::sin(turn) / turn;
  }
  template <class Z>
  TW_FORMULA static Z of_complex(Z z) {
    return complex_sinc(z);
  }
};

template <class M>
struct Atan2Formula {
  template <class C>
  TW_FORMULA C operator()(C y, C x) const {
    return M::atan2(y, x);
  }
};

struct TanhBackwardFormula {
  template <class C>
  TW_FORMULA C operator()(C g, C result) const {
    return g * conjugate(C(1) - result * result);
  }
};

template <class Ops>
void add_trigonometric(Ops ops) {
  using M = typename Ops::Functions;
  ops.floats("sin", SinFormula<M>());
  ops.floats("cos", CosFormula<M>());
  ops.floats("tan", TanFormula<M>());
  ops.floats("asin", AsinFormula<M>());
  ops.floats("acos", AcosFormula<M>());
  ops.floats("atan", AtanFormula<M>());
  ops.floats("sinh", SinhFormula<M>());
  ops.floats("cosh", CoshFormula<M>());
  ops.floats("tanh", TanhFormula<M>());
  ops.floats("asinh", AsinhFormula<M>());
  ops.floats("acosh", AcoshFormula<M>());
  ops.floats("atanh", AtanhFormula<M>());
  ops.floats("sinc", SincFormula());
  ops.floats("atan2", Atan2Formula<M>());
  ops.floats_and_complex("tanh_backward", TanhBackwardFormula());
}

}  // namespace tw::ops
