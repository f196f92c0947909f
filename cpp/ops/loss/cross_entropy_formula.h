// See cross_entropy.cc: what a row's sums and its target's weight make of its loss and its gradient. C: the
// type of sums.
#pragma once

#include "base/formula.h"

namespace tw::ops {

template <class C>
struct CrossEntropyFormula {
  C smoothing, classes, weight_sum;

  // What the row's losses of each class weigh together.
  TW_FORMULA C scale(C weight) const {
    return (C(1) - smoothing) * weight + smoothing * weight_sum / classes;
  }
  // Of the target, whose logarithm of the probability is -picked.
  TW_FORMULA C hard_loss(C weight, C picked) const { return (C(1) - smoothing) * weight * picked; }
  // Of all classes alike; weighted: Σ w[c] x[c].
  TW_FORMULA C smooth_loss(C log_sum, C weighted) const {
    return smoothing / classes * (weight_sum * log_sum - weighted);
  }

  // dx = scale exp(x - log_sum) - smooth w, and less `hard` at the target.
  struct Gradient {
    C scale, smooth, hard;
  };
  // over_divisor: the row's scale over what a mean divides by.
  TW_FORMULA Gradient gradient(C g, C over_divisor, C weight) const {
    C full = scale(weight);
    C unit = full != C(0) ? g * over_divisor / full : C(0);  // g over the divisor
    return {g * over_divisor, unit * smoothing / classes, unit * (C(1) - smoothing) * weight};
  }
};

}  // namespace tw::ops
