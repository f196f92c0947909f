// The parts of softmax on one contiguous row, which softmax, logsumexp and cross_entropy share. For use under
// TW_CLONES.
#pragma once

#include "device/cpu/element.h"
#include "device/cpu/math.h"
#include "device/cpu/reduce.h"
#include "device/cpu/row_pass.h"

namespace tw::device {

// The largest of n > 0 elements that are not NaN; -inf when there is none. NaN shows in the sum of
// exponentials. `between` as in reduce_span.
template <class T, class Between = NothingBetween>
TW_INLINE compute_t<T> row_max(int64_t n, const stored_t<T>* x, Between between = {}) {
  using C = compute_t<T>;
  return reduce_span(
      n, -math::detail::kInf<C>, [x](int64_t i) { return load<T>(x[i]); },
      [](C a, C b) { return b > a ? b : a; }, between);
}

// e[i] = exp(x[i] - shift), where shift is the largest; their sum.
template <class T>
TW_INLINE compute_t<T> row_exp(int64_t n, const stored_t<T>* x, compute_t<T> shift, compute_t<T>* e) {
  using C = compute_t<T>;
  row_pass(n, [=](int64_t i) { e[i] = math::exp_nonpositive(load<T>(x[i]) - shift); }, x);
  return reduce_span(n, C(0), [e](int64_t i) { return e[i]; }, [](C a, C b) { return a + b; });
}

// log Σ exp(x), and its parts.
template <class C>
struct LogSum {
  C max, sum;
  C value() const { return max + math::log(sum); }
};
// Works in pieces of a buffer on the stack: nothing of the row is kept.
template <class T>
TW_INLINE LogSum<compute_t<T>> row_log_sum(int64_t n, const stored_t<T>* x) {
  using C = compute_t<T>;
  C max = row_max<T>(n, x);
  if (max == math::detail::kInf<C>) {
    bool nan = false;
    for (int64_t i = 0; i < n; i++) nan |= load<T>(x[i]) != load<T>(x[i]);
    return {nan ? math::detail::kNan<C> : max, C(1)};
  }
  C shift = max == -math::detail::kInf<C> ? C(0) : max;
  constexpr int64_t kPiece = 1024;
  alignas(64) C e[kPiece];
  C sum = 0;
  for (int64_t first = 0; first < n; first += kPiece)
    sum += row_exp<T>(n - first < kPiece ? n - first : kPiece, x + first, shift, e);
  return {shift, sum};
}

}  // namespace tw::device
