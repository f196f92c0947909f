// The recursions of ctc_loss over the states of a target, which is extended by blanks: blank, t0, blank, t1,
// ..., blank. All numbers are logarithms of probabilities, and kCtcNone is that of 0.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "base/formula.h"

namespace tw::ops {

inline constexpr double kCtcNone = -std::numeric_limits<double>::infinity();

TW_FORMULA double log_add(double a, double b) {
  double high = a > b ? a : b;
  if (high == kCtcNone) return kCtcNone;
  return high + std::log1p(std::exp((a > b ? b : a) - high));
}

template <class T>
struct CtcSequence {
  const T* log_probs;   // [T, N, C], at this sample
  int64_t step, steps;  // from one time to the next; times
  const int64_t* target;
  int64_t length, blank;

  TW_FORMULA int64_t states() const { return 2 * length + 1; }
  TW_FORMULA int64_t label(int64_t s) const { return s % 2 ? target[s / 2] : blank; }
  TW_FORMULA double emission(int64_t t, int64_t s) const {
    return static_cast<double>(log_probs[t * step + label(s)]);
  }
  // A blank may be skipped between two different classes.
  TW_FORMULA bool may_skip(int64_t s) const {
    return s >= 3 && s % 2 == 1 && target[s / 2] != target[s / 2 - 1];
  }
  // All paths that are in state s at time t, from those of the time before.
  TW_FORMULA double arrive(int64_t t, int64_t s, const double* before) const {
    if (t == 0) return s < 2 ? emission(t, s) : kCtcNone;
    double sum = before[s];
    if (s > 0) sum = log_add(sum, before[s - 1]);
    if (may_skip(s)) sum = log_add(sum, before[s - 2]);
    return sum + emission(t, s);
  }
  // All paths on from state s at time t, what is emitted there left out, from those of the time after.
  TW_FORMULA double leave(int64_t t, int64_t s, const double* after) const {
    if (t == steps - 1) return s + 2 >= states() ? 0 : kCtcNone;
    double sum = after[s];
    if (s + 1 < states()) sum = log_add(sum, after[s + 1]);
    if (s + 2 < states() && may_skip(s + 2)) sum = log_add(sum, after[s + 2]);
    return sum;
  }
  // All paths, from those of the last time.
  template <class Value>
  TW_FORMULA double whole(const Value* last) const {
    auto end = static_cast<double>(last[states() - 1]);
    return states() > 1 ? log_add(end, static_cast<double>(last[states() - 2])) : end;
  }
};

}  // namespace tw::ops
