// See sgd_step.cc.
#pragma once

#include "ops/optim/moments_formula.h"
#include "ops/optim/optim.h"

namespace tw::ops {

template <class T>
struct SgdFormula {
  T lr, decay, sign, momentum, take;
  bool nesterov, fresh;

  static SgdFormula of(const SgdAttrs& a, int tensor) {
    return {T(a.lr),
            T(a.weight_decay),
            T(a.maximize ? -1 : 1),
            T(a.momentum),
            T(1 - a.dampening),
            a.nesterov,
            a.momentum != 0 && a.fresh[tensor] != 0};
  }

  TW_FORMULA void operator()(T& param, T grad) const { param -= lr * penalized(grad, param, sign, decay); }
  // With momentum.
  TW_FORMULA void operator()(T& param, T grad, T& buffer) const {
    T g = penalized(grad, param, sign, decay);
    T v = fresh ? g : momentum * buffer + take * g;
    buffer = v;
    param -= lr * (nesterov ? g + momentum * v : v);
  }
};

template <class Ops>
void add_sgd_step(Ops ops) {
  ops.add("sgd_step", [](const auto& step) {
    const auto& a = step.template attrs<SgdAttrs>();
    auto formula = [&]<class C>(int tensor) { return SgdFormula<C>::of(a, tensor); };
    if (a.momentum == 0)
      step.template over<0>(formula);
    else
      step.template over<1>(formula);
  });
}

}  // namespace tw::ops
