// See piecewise.cc. Each is a function of x, or of a gradient and x; those that are shaped by the numbers of
// their schema have these, in their order, as p and q. All hand NaN on.
#pragma once

#include <cmath>

#include "base/formula.h"
#include "ops/activation/activations.h"

namespace tw::ops {

#define TW_CURVE(NAME, PARAMETERS, ...)        \
  struct NAME {                                \
    template <class C>                         \
    TW_FORMULA C operator() PARAMETERS const { \
      return __VA_ARGS__;                      \
    }                                          \
  };
#define TW_SHAPED_CURVE(NAME, PARAMETERS, ...)                       \
  template <class M, class C>                                        \
  struct NAME {                                                      \
    C p, q;                                                          \
    static NAME of(const CurveAttrs& a) { return {C(a.p), C(a.q)}; } \
    TW_FORMULA C operator() PARAMETERS const { return __VA_ARGS__; } \
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

TW_CURVE(ReluFormula, (C x), x < C(0) ? C(0) : x)
TW_CURVE(HardSigmoidFormula, (C x), hard_step(x))
TW_CURVE(HardSigmoidBackwardFormula, (C g, C x), x > C(-3) && x < C(3) ? g * C(1.0 / 6) : C(0))
TW_CURVE(HardSwishFormula, (C x), x* hard_step(x))
TW_CURVE(HardSwishBackwardFormula, (C g, C x), hardswish_slope(g, x))
TW_CURVE(PreluFormula, (C x, C weight), x > 0 ? x : weight * x)

TW_SHAPED_CURVE(ThresholdFormula, (C x), x <= p ? q : x)
TW_SHAPED_CURVE(ThresholdBackwardFormula, (C g, C x), x <= p ? C(0) : g)
TW_SHAPED_CURVE(LeakyReluFormula, (C x), x > 0 ? x : p * x)
TW_SHAPED_CURVE(LeakyReluBackwardFormula, (C g, C x), x > 0 ? g : p * g)
TW_SHAPED_CURVE(HardTanhFormula, (C x), (x < p) ? p : (x > q) ? q : x)
TW_SHAPED_CURVE(HardTanhBackwardFormula, (C g, C x), x <= p || x >= q ? C(0) : g)
TW_SHAPED_CURVE(HardShrinkFormula, (C x), x >= -p && x <= p ? C(0) : x)
TW_SHAPED_CURVE(SoftShrinkFormula, (C x), (x > p) ? x - p : (x < -p) ? x + p : x * C(0))
TW_SHAPED_CURVE(ShrinkBackwardFormula, (C g, C x), std::fabs(x) <= p ? C(0) : g)

#undef TW_CURVE
#undef TW_SHAPED_CURVE

template <class Ops>
void add_piecewise(Ops ops) {
  ops.reals("relu", ReluFormula());
  ops.template shaped_reals<ThresholdFormula>("threshold");
  ops.template shaped_reals<ThresholdBackwardFormula>("threshold_backward");
  ops.template shaped_floats<LeakyReluFormula>("leaky_relu");
  ops.template shaped_floats<LeakyReluBackwardFormula>("leaky_relu_backward");
  ops.template shaped_reals<HardTanhFormula>("hardtanh");
  ops.template shaped_reals<HardTanhBackwardFormula>("hardtanh_backward");
  ops.floats("hardsigmoid", HardSigmoidFormula());
  ops.floats("hardsigmoid_backward", HardSigmoidBackwardFormula());
  ops.floats("hardswish", HardSwishFormula());
  ops.floats("hardswish_backward", HardSwishBackwardFormula());
  ops.template shaped_floats<HardShrinkFormula>("hardshrink");
  ops.template shaped_floats<SoftShrinkFormula>("softshrink");
  ops.template shaped_floats<ShrinkBackwardFormula>("shrink_backward");
  ops.floats("prelu_of", PreluFormula());
}

}  // namespace tw::ops
