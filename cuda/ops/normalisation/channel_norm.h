// What batch_norm and group_norm add up of an element, and what they make of it (channel_sums.h,
// common/pointwise.h).
#pragma once

#include "cuda/common/platform.h"
#include "ops/normalisation/channel_norm_formula.h"

namespace tw::cuda {

// Σ d and Σ d², d being about a number near the mean, so that little cancels.
struct Deviations {
  double about;
  template <class C>
  TW_DEVICE void add(double& first, double& second, C x) const {
    double d = static_cast<double>(x) - about;
    first += d;
    second += d * d;
  }
  TW_DEVICE static double squares(double first, double second, double count) {
    double about_mean = second - first * first / count;
    return about_mean < 0 ? 0 : about_mean;
  }
};

// Σ g and Σ g (x - mean).
template <class C>
struct GradientSums {
  C mean;
  TW_DEVICE void add(C& first, C& second, C g, C x) const {
    first += g;
    second += g * (x - mean);
  }
};

struct Normalise {
  template <class C>
  TW_DEVICE C operator()(C x, C mean, C scale, C shift) const {
    return ops::normalised(x, mean, scale, shift);
  }
};

struct NormGradient {
  template <class C>
  TW_DEVICE C operator()(C g, C x, C mean, C p, C q, C rest) const {
    return ops::norm_gradient(g, x, mean, p, q, rest);
  }
};

}  // namespace tw::cuda
