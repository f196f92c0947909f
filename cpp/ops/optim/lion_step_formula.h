// See lion_step.cc.
#pragma once

#include "base/formula.h"
#include "ops/optim/optim.h"

namespace tw::ops {

template <class T>
struct LionFormula {
  T lr, keep, sign, take1, take2;

  static LionFormula of(const LionAttrs& a) {
    return {T(a.lr), T(1 - a.lr * a.weight_decay), T(a.maximize ? -1 : 1), T(1 - a.beta1), T(1 - a.beta2)};
  }

  TW_FORMULA void operator()(T& param, T grad, T& mean) const {
    T g = sign * grad;
    T direction = mean + take1 * (g - mean);
    T unit = direction > 0 ? T(1) : (direction < 0 ? T(-1) : direction);  // 0 and NaN stay
    param = keep * param - lr * unit;
    mean += take2 * (g - mean);
  }
};

template <class Ops>
void add_lion_step(Ops ops) {
  ops.add("lion_step", [](const auto& step) {
    const auto& a = step.template attrs<LionAttrs>();
    step.template over<1>([&]<class C>(int) { return LionFormula<C>::of(a); });
  });
}

}  // namespace tw::ops
