// Sums over contiguous rows of any length, for use under TW_CLONES.
#pragma once

#include <cmath>

#include "device/cpu/element.h"
#include "device/cpu/reduce.h"

namespace tw::device {

// at(0) + ... + at(n - 1): pieces are summed in C, the pieces' sums in double. `between` as in reduce_span.
template <class C, class At, class Between = NothingBetween>
TW_INLINE double long_sum(int64_t n, At at, Between between = {}) {
  constexpr int64_t kPiece = 4096;
  double total = 0;
  for (int64_t first = 0; first < n; first += kPiece) {
    int64_t count = n - first < kPiece ? n - first : kPiece;
    total += static_cast<double>(reduce_span(
        count, C(0), [&](int64_t i) { return at(first + i); }, [](C a, C b) { return a + b; },
        [&](int64_t i) { between(first + i); }));
  }
  return total;
}

// Of a row: the mean, and 1 / √(variance + eps) with the variance about it, in two passes: exact for large
// means too. Not centred: mean 0, and the variance about 0.
template <class C>
struct RowStats {
  C mean, rstd;
};
template <class C, bool kCentre = true, class At, class Between = NothingBetween>
TW_INLINE RowStats<C> row_stats(int64_t n, double eps, At at, Between between = {}) {
  double count = static_cast<double>(n);
  C mean = kCentre ? C(long_sum<C>(n, at) / count) : C(0);
  double squares = long_sum<C>(
      n,
      [at, mean](int64_t i) {
        C d = at(i) - mean;
        return d * d;
      },
      between);
  return {mean, C(1 / std::sqrt(squares / count + eps))};
}

// total[j] = Σ_r at(r step + j) for j < width; `part` is scratch of `width` elements.
template <class C, class At>
TW_INLINE void column_sums(int64_t rows, int64_t step, int64_t width, At at, C* part, double* total) {
  constexpr int64_t kRows = 128;
  for (int64_t j = 0; j < width; j++) total[j] = 0;
  for (int64_t first = 0; first < rows; first += kRows) {
    int64_t last = rows - first < kRows ? rows : first + kRows;
    for (int64_t j = 0; j < width; j++) part[j] = 0;
    for (int64_t r = first; r < last; r++) {
      int64_t row = r * step;
#pragma GCC ivdep
      for (int64_t j = 0; j < width; j++) part[j] += at(row + j);
    }
    for (int64_t j = 0; j < width; j++) total[j] += static_cast<double>(part[j]);
  }
}

}  // namespace tw::device
