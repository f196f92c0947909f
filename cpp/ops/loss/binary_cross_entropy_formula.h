// See binary_cross_entropy.cc.
#pragma once

#include "base/formula.h"

namespace tw::ops {

inline constexpr double kBceLeastLog = -100;
inline constexpr double kBceLeastDivisor = 1e-12;

// From log(x) and log(1 - x).
template <class C>
TW_FORMULA C binary_cross_entropy_of(C log_x, C log_rest, C target) {
  C positive = log_x < C(kBceLeastLog) ? C(kBceLeastLog) : log_x;
  C negative = log_rest < C(kBceLeastLog) ? C(kBceLeastLog) : log_rest;
  return (target - C(1)) * negative - target * positive;
}

template <class C>
TW_FORMULA C binary_cross_entropy_gradient(C g, C x, C target) {
  C divisor = x * (C(1) - x);
  return g * (x - target) / (divisor < C(kBceLeastDivisor) ? C(kBceLeastDivisor) : divisor);
}

}  // namespace tw::ops
