// See adam_step.cc.
#pragma once

#include <cmath>
#include <vector>

#include "ops/optim/moments_formula.h"
#include "ops/optim/optim.h"

namespace tw::ops {

// What the number of a step makes of a tensor's rate, and of the root of its mean square.
struct AdamCorrection {
  double root_scale, step_size;

  static AdamCorrection of(const AdamAttrs& a, int tensor) {
    double n = static_cast<double>(a.steps[tensor]);
    return {1 / std::sqrt(1 - std::pow(a.beta2, n)), a.lr / (1 - std::pow(a.beta1, n))};
  }
};

template <class T>
struct AdamFormula {
  T keep, penalty, sign;
  RunningMoments<T> moments;
  T root_scale, eps, step_size;

  static AdamFormula of(const AdamAttrs& a, const AdamCorrection& c) {
    return {T(a.decoupled ? 1 - a.lr * a.weight_decay : 1),
            T(a.decoupled ? 0 : a.weight_decay),
            T(a.maximize ? -1 : 1),
            moments_of<T>(a),
            T(c.root_scale),
            T(a.eps),
            T(c.step_size)};
  }

  TW_FORMULA void operator()(T& param, T grad, T& mean, T& square) const {
    param *= keep;
    moments.add(penalized(grad, param, sign, penalty), mean, square);
    move(param, mean, square);
  }
  // With the largest square so far.
  TW_FORMULA void operator()(T& param, T grad, T& mean, T& square, T& largest) const {
    param *= keep;
    moments.add(penalized(grad, param, sign, penalty), mean, square);
    largest = (square > largest) | (square != square) ? square : largest;  // NaN goes through
    move(param, mean, largest);
  }
  TW_FORMULA void move(T& param, T mean, T square) const {
    param -= step_size * mean / (std::sqrt(square) * root_scale + eps);
  }
};

template <class Ops>
void add_adam_step(Ops ops) {
  ops.add("adam_step", [](const auto& step) {
    const auto& a = step.template attrs<AdamAttrs>();
    std::vector<AdamCorrection> corrections;
    for (int i = 0; i < static_cast<int>(a.steps.size()); i++)
      corrections.push_back(AdamCorrection::of(a, i));
    auto formula = [&]<class C>(int tensor) { return AdamFormula<C>::of(a, corrections[tensor]); };
    if (step.has(4))
      step.template over<3>(formula);
    else
      step.template over<2>(formula);
  });
}

}  // namespace tw::ops
