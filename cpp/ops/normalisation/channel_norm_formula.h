// What the statistics of channels, or of groups of channels, make of each element: batch_norm and group_norm.
// x̂ = (x - mean) rstd.
#pragma once

#include <cmath>

#include "base/formula.h"

namespace tw::ops {

// From the sum of squared deviations of `count` elements.
TW_FORMULA double norm_rstd(double squares, double count, double eps) {
  return 1 / std::sqrt(squares / count + eps);
}
TW_FORMULA double unbiased_variance(double squares, double count) {
  return squares / (count > 1 ? count - 1 : 0);
}

template <class C>
TW_FORMULA C normalised(C x, C mean, C scale, C shift) {
  return (x - mean) * scale + shift;
}

// The gradient of an element by its incoming gradient g and itself: g p + (x - mean) q + rest.
template <class C>
struct NormSlope {
  C p, q, rest;

  // `sum` is Σ w g and `product` Σ w g x̂ over the `count` elements that share statistics; `weight` is w of
  // the channel.
  TW_FORMULA static NormSlope of(double weight, double sum, double product, double rstd, double count) {
    return {C(weight * rstd), C(-rstd * rstd * product / count), C(-rstd * sum / count)};
  }
};

template <class C>
TW_FORMULA C norm_gradient(C g, C x, C mean, C p, C q, C rest) {
  return g * p + (x - mean) * q + rest;
}

}  // namespace tw::ops
