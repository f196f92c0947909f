// Passes over rows of numbers that lie side by side: columns are summed, or every row is changed by numbers
// of each column. Row r begins at r step.
#pragma once

#include <algorithm>
#include <cstdint>

#include "device/cpu/clones.h"
#include "device/cpu/element.h"
#include "device/cpu/row_sum.h"
#include "ops/normalisation/channel_norm_formula.h"

namespace tw::ops {

using namespace device;

namespace {  // as TW_CLONES wants

template <class T>
TW_CLONES __attribute__((flatten)) void sum_columns(int64_t rows, int64_t step, int64_t width,
                                                    const stored_t<T>* x, compute_t<T>* part, double* total) {
  column_sums<compute_t<T>>(rows, step, width, [x](int64_t i) { return load<T>(x[i]); }, part, total);
}

template <class T>
TW_CLONES __attribute__((flatten)) void square_columns(int64_t rows, int64_t step, int64_t width,
                                                       const stored_t<T>* x, const compute_t<T>* mean,
                                                       compute_t<T>* part, double* total) {
  using C = compute_t<T>;
  for (int64_t j = 0; j < width; j++) total[j] = 0;
  for (int64_t first = 0; first < rows; first += 128) {
    int64_t last = std::min(rows, first + 128);
    for (int64_t j = 0; j < width; j++) part[j] = 0;
    for (int64_t r = first; r < last; r++) {
      const stored_t<T>* row = x + r * step;
#pragma GCC ivdep
      for (int64_t j = 0; j < width; j++) {
        C d = load<T>(row[j]) - mean[j];
        part[j] += d * d;
      }
    }
    for (int64_t j = 0; j < width; j++) total[j] += static_cast<double>(part[j]);
  }
}

template <class T>
TW_CLONES __attribute__((flatten)) void product_columns(int64_t rows, int64_t step, int64_t width,
                                                        const stored_t<T>* g, const stored_t<T>* x,
                                                        const compute_t<T>* mean, compute_t<T>* part,
                                                        double* total) {
  using C = compute_t<T>;
  for (int64_t j = 0; j < width; j++) total[j] = 0;
  for (int64_t first = 0; first < rows; first += 128) {
    int64_t last = std::min(rows, first + 128);
    for (int64_t j = 0; j < width; j++) part[j] = 0;
    for (int64_t r = first; r < last; r++) {
      const stored_t<T>*gr = g + r * step, *xr = x + r * step;
#pragma GCC ivdep
      for (int64_t j = 0; j < width; j++) part[j] += load<T>(gr[j]) * C(load<T>(xr[j]) - mean[j]);
    }
    for (int64_t j = 0; j < width; j++) total[j] += static_cast<double>(part[j]);
  }
}

// y = (x - mean) scale + shift
template <class T>
TW_CLONES __attribute__((flatten)) void apply_rows(int64_t rows, int64_t step, int64_t width,
                                                   const stored_t<T>* x, const compute_t<T>* mean,
                                                   const compute_t<T>* scale, const compute_t<T>* shift,
                                                   stored_t<T>* y) {
  for (int64_t r = 0; r < rows; r++) {
    const stored_t<T>* from = x + r * step;
    stored_t<T>* to = y + r * step;
#pragma GCC ivdep
    for (int64_t j = 0; j < width; j++)
      to[j] = store<T>(normalised(load<T>(from[j]), mean[j], scale[j], shift[j]));
  }
}

// dx = g p + (x - mean) q + r
template <class T>
TW_CLONES __attribute__((flatten)) void backward_rows(int64_t rows, int64_t step, int64_t width,
                                                      const stored_t<T>* g, const stored_t<T>* x,
                                                      const compute_t<T>* const* terms, stored_t<T>* dx) {
  const compute_t<T>*mean = terms[0], *p = terms[1], *q = terms[2], *rest = terms[3];
  for (int64_t r = 0; r < rows; r++) {
    const stored_t<T>*gr = g + r * step, *xr = x + r * step;
    stored_t<T>* to = dx + r * step;
#pragma GCC ivdep
    for (int64_t j = 0; j < width; j++)
      to[j] = store<T>(norm_gradient(load<T>(gr[j]), load<T>(xr[j]), mean[j], p[j], q[j], rest[j]));
  }
}

}  // namespace

}  // namespace tw::ops
