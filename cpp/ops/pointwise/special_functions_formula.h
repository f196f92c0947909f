// See special_functions.cc. M: the functions used.
#pragma once

#include <cmath>
#include <limits>

#include "base/dtype.h"
#include "base/formula.h"
#include "base/gamma.h"
#include "ops/complex_formula.h"
#include "ops/pointwise/special_functions.h"

namespace tw::ops {

#define TW_FUNCTION(NAME, ...)           \
  template <class M>                     \
  struct NAME {                          \
    template <class C>                   \
    TW_FORMULA C operator()(C x) const { \
      return __VA_ARGS__;                \
    }                                    \
  };

TW_FUNCTION(ErfFormula, M::erf(x))
TW_FUNCTION(ErfcFormula, M::erfc(x))
TW_FUNCTION(ErfinvFormula, M::erfinv(x))
TW_FUNCTION(LgammaFormula, M::lgamma(x))
TW_FUNCTION(DigammaFormula, static_cast<C>(digamma(static_cast<double>(x))))

#undef TW_FUNCTION

struct ZetaFormula {
  template <class C>
  TW_FORMULA C operator()(C s, C q) const {
    return static_cast<C>(zeta(static_cast<double>(s), static_cast<double>(q)));
  }
};

template <class M>
struct SigmoidFormula {
  template <class C>
  TW_FORMULA C operator()(C x) const {
    return M::sigmoid(x);
  }
  template <class Z>
  TW_FORMULA static Z of_complex(Z z) {
    return complex_sigmoid(z);
  }
};

// Of the result.
template <class C>
TW_FORMULA C sigmoid_slope(C result) {
  return (C(1) - result) * result;
}

struct SigmoidBackwardFormula {
  template <class C>
  TW_FORMULA C operator()(C g, C result) const {
    return g * conjugate(sigmoid_slope(result));
  }
};

template <class M, class C>
struct LogitFormula {
  C low, high;
  static LogitFormula of(const LogitAttrs& a) {
    constexpr C kInfinity = std::numeric_limits<C>::infinity();
    double eps = a.eps.value_or(-1);
    return {eps < 0 ? -kInfinity : C(eps), eps < 0 ? kInfinity : C(1) - C(eps)};
  }
  TW_FORMULA C operator()(C p) const {
    p = p < low ? low : p > high ? high : p;
    return M::log(p / (C(1) - p));
  }
};

// (-1)^(n + 1) n! zeta(n + 1, x), or digamma.
template <class M, class C>
struct PolygammaFormula {
  int64_t n;
  double factor;
  static PolygammaFormula of(const PolygammaAttrs& a) {
    return {a.n, (a.n % 2 ? 1 : -1) * std::tgamma(static_cast<double>(a.n) + 1)};
  }
  TW_FORMULA C operator()(C x) const {
    auto at = static_cast<double>(x);
    return static_cast<C>(n == 0 ? digamma(at) : factor * zeta(static_cast<double>(n) + 1, at));
  }
};

// What takes the place of the special values of T, a real dtype.
template <class T>
struct ReplacementFormula {
  using C = compute_t<T>;
  C nan, high, low;
  static ReplacementFormula of(const NanToNumAttrs& a) {
    return {C(a.nan), C(a.posinf.value_or(largest())), C(a.neginf.value_or(-largest()))};
  }
  TW_FORMULA C operator()(C x) const {
    constexpr C kInf = std::numeric_limits<C>::infinity();
    return x != x ? nan : x == kInf ? high : x == -kInf ? low : x;
  }

 private:
  static double largest() {
    if constexpr (std::is_same_v<T, float16>)
      return 65504;
    else if constexpr (std::is_same_v<T, bfloat16>)
      return 0x1.FEp127;
    else
      return std::numeric_limits<T>::max();
  }
};

template <class Ops>
void add_special_functions(Ops ops) {
  using M = typename Ops::Functions;
  ops.floats("erf", ErfFormula<M>());
  ops.floats("erfc", ErfcFormula<M>());
  ops.floats("erfinv", ErfinvFormula<M>());
  ops.floats("sigmoid", SigmoidFormula<M>());
  ops.floats_and_complex("sigmoid_backward", SigmoidBackwardFormula());
  ops.template shaped_floats<LogitFormula>("logit");
  ops.floats("lgamma", LgammaFormula<M>());
  ops.floats("digamma", DigammaFormula<M>());
  ops.template shaped_floats<PolygammaFormula>("polygamma_of");
  ops.floats("special_zeta", ZetaFormula());
}

}  // namespace tw::ops
