// What the formulas of optimizer steps share. An element's step is a struct whose call operator takes the
// parameter, the gradient and the states, and changes all but the gradient:
//
//   template <class T>  // float or double
//   struct StepFormula {
//     static StepFormula of(const StepAttrs& a);
//     TW_FORMULA void operator()(T& param, T grad, T& state) const;
//   };
#pragma once

#include "base/formula.h"

namespace tw::ops {

// grad, negated to ascend, plus the L2 penalty; a penalty of 0 does not look at the parameter.
template <class T>
TW_FORMULA T penalized(T grad, T param, T sign, T weight_decay) {
  grad *= sign;
  return weight_decay != 0 ? grad + weight_decay * param : grad;
}

// The running means of gradients and of their squares.
template <class T>
struct RunningMoments {
  T take1, beta2, take2;

  TW_FORMULA void add(T g, T& mean, T& square) const {
    mean += take1 * (g - mean);
    square = beta2 * square + take2 * g * g;
  }
};

template <class T, class Attrs>
RunningMoments<T> moments_of(const Attrs& a) {
  return {T(1 - a.beta1), T(a.beta2), T(1 - a.beta2)};
}

}  // namespace tw::ops
