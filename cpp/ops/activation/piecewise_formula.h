// See piecewise.cc. Each is a function of x, or of a gradient and x, shaped by the numbers of its schema in
// their order: NAME<C>{p, q}. All hand NaN on.
#pragma once

#include <cmath>

#include "base/formula.h"

namespace tw::ops {

#define TW_CURVE(NAME, ...)                                    \
  template <class C>                                           \
  struct NAME {                                                \
    C p, q;                                                    \
    TW_FORMULA C operator()(C x) const { return __VA_ARGS__; } \
  };
#define TW_CURVE_SLOPE(NAME, ...)                                   \
  template <class C>                                                \
  struct NAME {                                                     \
    C p, q;                                                         \
    TW_FORMULA C operator()(C g, C x) const { return __VA_ARGS__; } \
  };

template <class C>
TW_FORMULA C hard_step(C x) {  // relu6(x + 3) / 6
  C y = x + C(3);
  y = y < C(0) ? C(0) : y;
  return (y > C(6) ? C(6) : y) * C(1.0 / 6);
}
template <class C>
TW_FORMULA C hardswish_slope(C g, C x) {
  C middle = g * (x * C(1.0 / 3) + C(0.5));
  return x <= C(-3) ? C(0) : x < C(3) ? middle : g;
}

TW_CURVE(ReluFormula, x < C(0) ? C(0) : x)
TW_CURVE(ThresholdFormula, x <= p ? q : x)
TW_CURVE_SLOPE(ThresholdBackwardFormula, x <= p ? C(0) : g)
TW_CURVE(LeakyReluFormula, x > 0 ? x : p * x)
TW_CURVE_SLOPE(LeakyReluBackwardFormula, x > 0 ? g : p * g)
TW_CURVE(HardTanhFormula, (x < p) ? p : (x > q) ? q : x)
TW_CURVE_SLOPE(HardTanhBackwardFormula, x <= p || x >= q ? C(0) : g)
TW_CURVE(HardSigmoidFormula, hard_step(x))
TW_CURVE_SLOPE(HardSigmoidBackwardFormula, x > C(-3) && x < C(3) ? g * C(1.0 / 6) : C(0))
TW_CURVE(HardSwishFormula, x* hard_step(x))
TW_CURVE_SLOPE(HardSwishBackwardFormula, hardswish_slope(g, x))
TW_CURVE(HardShrinkFormula, x >= -p && x <= p ? C(0) : x)
TW_CURVE(SoftShrinkFormula, (x > p) ? x - p : (x < -p) ? x + p : x * C(0))
TW_CURVE_SLOPE(ShrinkBackwardFormula, std::fabs(x) <= p ? C(0) : g)

#undef TW_CURVE
#undef TW_CURVE_SLOPE

struct PreluFormula {
  template <class C>
  TW_FORMULA C operator()(C x, C weight) const {
    return x > 0 ? x : weight * x;
  }
};

}  // namespace tw::ops
