// See lamb_step.cc: the moments, then, once the norms are known, the step.
#pragma once

#include <cmath>

#include "ops/optim/moments_formula.h"
#include "ops/optim/optim.h"

namespace tw::ops {

template <class T>
struct LambFormula {
  T sign;
  RunningMoments<T> moments;
  T mean_scale, root_scale, eps, decay;

  static LambFormula of(const LambAttrs& a, int tensor) {
    double step = static_cast<double>(a.steps[tensor]);
    return {T(a.maximize ? -1 : 1),
            moments_of<T>(a),
            T(1 / (1 - std::pow(a.beta1, step))),
            T(1 / std::sqrt(1 - std::pow(a.beta2, step))),
            T(a.eps),
            T(a.weight_decay)};
  }

  TW_FORMULA void add(T grad, T& mean, T& square) const { moments.add(sign * grad, mean, square); }
  TW_FORMULA T update(T param, T mean, T square) const {
    T u = mean * mean_scale / (std::sqrt(square) * root_scale + eps);
    return decay != 0 ? u + decay * param : u;
  }
  TW_FORMULA void move(T rate, T& param, T mean, T square) const {
    param -= rate * update(param, mean, square);
  }
};

// Σ p² and Σ u² of a tensor or of a part of one.
struct LambSquares {
  double param = 0, update = 0;

  TW_FORMULA void add(const LambSquares& part) {
    param += part.param;
    update += part.update;
  }
  // lr ‖p‖ / ‖u‖
  TW_FORMULA double rate(double lr) const {
    bool scaled = param > 0 && update > 0;
    return scaled ? lr * std::sqrt(param) / std::sqrt(update) : lr;
  }
};

}  // namespace tw::ops
