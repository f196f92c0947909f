// See gelu.cc. M: the functions used, whose normal_tail(x) gives `size` |x|, `bell` exp(-x²/2), and `mills`
// the upper tail of the normal distribution beyond |x| over the bell.
#pragma once

#include "base/formula.h"

namespace tw::ops {

struct GeluForm {
  static constexpr double kDensityScale = 0.3989422804014327;  // 1/√(2π)

  // x Φ(x) is x, or 0 for negative x, less |x| times the tail of the distribution beyond |x|.
  template <class C, class Tail>
  TW_FORMULA static C value(C x, const Tail& t) {
    C bent = x < C(0) ? C(0) : x;
    return bent - t.size * t.bell * t.mills;
  }
  // Φ(x) + x φ(x) is 1, or 0 for negative x, but for the tail less |x| φ(x).
  template <class C, class Tail>
  TW_FORMULA static C slope(C x, const Tail& t) {
    C rest = t.bell * (t.mills - C(kDensityScale) * t.size);
    return x < C(0) ? rest : C(1) - rest;
  }
};

template <class M>
struct GeluFormula {
  template <class C>
  TW_FORMULA C operator()(C x) const {
    return GeluForm::value(x, M::normal_tail(x));
  }
};
template <class M>
struct GeluBackwardFormula {
  template <class C>
  TW_FORMULA C operator()(C g, C x) const {
    return g * GeluForm::slope(x, M::normal_tail(x));
  }
};

struct GeluTanhForm {
  static constexpr double kTanhScale = 0.7978845608028654;  // √(2/π)
  static constexpr double kCubic = 0.044715;

  template <class C>
  TW_FORMULA static C inner(C x) {
    return C(kTanhScale) * (x + C(kCubic) * x * x * x);
  }
};

template <class M>
struct GeluTanhFormula {
  template <class C>
  TW_FORMULA C operator()(C x) const {
    return C(0.5) * x * (C(1) + M::tanh(GeluTanhForm::inner(x)));
  }
};
template <class M>
struct GeluTanhBackwardFormula {
  template <class C>
  TW_FORMULA C operator()(C g, C x) const {
    using F = GeluTanhForm;
    C t = M::tanh(F::inner(x));
    C inner_slope = C(F::kTanhScale) * (C(1) + C(3 * F::kCubic) * x * x);
    return g * C(0.5) * (C(1) + t + x * (C(1) - t * t) * inner_slope);
  }
};

}  // namespace tw::ops
