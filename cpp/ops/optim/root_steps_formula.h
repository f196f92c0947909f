// See root_steps.cc.
#pragma once

#include <cmath>

#include "ops/optim/moments_formula.h"
#include "ops/optim/optim.h"

namespace tw::ops {

template <class T>
struct AdagradFormula {
  T rate, eps, decay, sign;

  static AdagradFormula of(const AdagradAttrs& a, int tensor) {
    return {T(a.lr / (1 + static_cast<double>(a.steps[tensor] - 1) * a.lr_decay)), T(a.eps),
            T(a.weight_decay), T(a.maximize ? -1 : 1)};
  }

  TW_FORMULA void operator()(T& param, T grad, T& sum) const {
    T g = penalized(grad, param, sign, decay);
    sum += g * g;
    param -= rate * g / (std::sqrt(sum) + eps);
  }
};

template <class T>
struct AdadeltaFormula {
  T lr, rho, take, eps, decay, sign;

  static AdadeltaFormula of(const AdadeltaAttrs& a) {
    return {T(a.lr), T(a.rho), T(1 - a.rho), T(a.eps), T(a.weight_decay), T(a.maximize ? -1 : 1)};
  }

  TW_FORMULA void operator()(T& param, T grad, T& square, T& acc_delta) const {
    T g = penalized(grad, param, sign, decay);
    square = rho * square + take * g * g;
    T delta = std::sqrt(acc_delta + eps) / std::sqrt(square + eps) * g;
    acc_delta = rho * acc_delta + take * delta * delta;
    param -= lr * delta;
  }
};

// kCentred: with the running mean of gradients, whose square is subtracted. The last state, where there is
// one more, is the momentum.
template <class T, bool kCentred>
struct RmspropFormula {
  T lr, alpha, take, eps, decay, sign, momentum;

  static RmspropFormula of(const RmspropAttrs& a) {
    return {T(a.lr),      T(a.alpha), T(1 - a.alpha), T(a.eps), T(a.weight_decay), T(a.maximize ? -1 : 1),
            T(a.momentum)};
  }

  TW_FORMULA T ratio(T g, T& square) const {
    square = alpha * square + take * g * g;
    return g / (std::sqrt(square) + eps);
  }
  TW_FORMULA T ratio(T g, T& square, T& mean) const {
    square = alpha * square + take * g * g;
    mean += take * (g - mean);
    return g / (std::sqrt(square - mean * mean) + eps);
  }
  TW_FORMULA void move(T& param, T ratio, T& buffer) const {
    buffer = momentum * buffer + ratio;
    param -= lr * buffer;
  }

  TW_FORMULA void operator()(T& param, T grad, T& square) const {
    param -= lr * ratio(penalized(grad, param, sign, decay), square);
  }
  TW_FORMULA void operator()(T& param, T grad, T& square, T& other) const {
    T g = penalized(grad, param, sign, decay);
    if constexpr (kCentred)
      param -= lr * ratio(g, square, other);
    else
      move(param, ratio(g, square), other);
  }
  TW_FORMULA void operator()(T& param, T grad, T& square, T& mean, T& buffer) const {
    move(param, ratio(penalized(grad, param, sign, decay), square, mean), buffer);
  }
};

template <class Ops>
void add_root_steps(Ops ops) {
  ops.add("adagrad_step", [](const auto& step) {
    const auto& a = step.template attrs<AdagradAttrs>();
    step.template over<1>([&]<class C>(int tensor) { return AdagradFormula<C>::of(a, tensor); });
  });
  ops.add("rmsprop_step", [](const auto& step) {
    const auto& a = step.template attrs<RmspropAttrs>();
    auto plain = [&]<class C>(int) { return RmspropFormula<C, false>::of(a); };
    auto centred = [&]<class C>(int) { return RmspropFormula<C, true>::of(a); };
    bool centres = step.has(3), moves = step.has(4);
    if (centres && moves)
      step.template over<3>(centred);
    else if (centres)
      step.template over<2>(centred);
    else if (moves)
      step.template over<2>({0, 1, 2, 4}, plain);
    else
      step.template over<1>(plain);
  });
  ops.add("adadelta_step", [](const auto& step) {
    const auto& a = step.template attrs<AdadeltaAttrs>();
    step.template over<2>([&]<class C>(int) { return AdadeltaFormula<C>::of(a); });
  });
}

}  // namespace tw::ops
