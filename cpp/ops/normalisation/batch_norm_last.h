// batch_norm of tensors that lie channels-last: [rows, C], rows being the positions of all samples.
//
// Rows are cut into at most kSegments segments, by shape alone, which threads share. A segment takes blocks
// of rows that fit the first-level cache; the mean and the squared deviations of each block are found there
// and merged (Chan, Golub, LeVeque 1983), so that x is read once for its statistics however far its mean is
// from 0. Bytes: forward reads x twice and writes y; backward reads g and x twice and writes dx.
#pragma once

#include <cmath>
#include <vector>

#include "device/cpu/parallel.h"
#include "ops/normalisation/batch_norm_rows.h"

namespace tw::ops {

using namespace device;

namespace {

constexpr int64_t kSegments = 16;
constexpr int64_t kBlockElements = 8192;
constexpr int64_t kRowGrain = 1 << 15;  // elements that are worth a thread

struct Segments {
  int64_t rows, count;

  Segments(int64_t rows, int64_t channels)
      : rows(rows), count(std::clamp<int64_t>(rows * channels / kRowGrain, 1, kSegments)) {}
  int64_t first(int64_t i) const { return rows * i / count; }
  // body(segment, first row, last row)
  template <class Body>
  void run(Body body) const {
    parallel_for(0, count, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i++) body(i, first(i), first(i + 1));
    });
  }
};

// Mean and sum of squared deviations of each channel over `count` rows.
struct Moments {
  double count = 0;
  std::vector<double> mean, squares;

  explicit Moments(int64_t channels) : mean(channels, 0.0), squares(channels, 0.0) {}
  void merge(double other_count, const double* other_mean, const double* other_squares) {
    double total = count + other_count, share = other_count / total, cross = count * share;
    for (size_t c = 0; c < mean.size(); c++) {
      double delta = other_mean[c] - mean[c];
      mean[c] += delta * share;
      squares[c] += other_squares[c] + delta * delta * cross;
    }
    count = total;
  }
};

template <class T>
Moments moments_of(const stored_t<T>* x, int64_t rows, int64_t channels) {
  using C = compute_t<T>;
  Moments result(channels);
  std::vector<C> part(channels), center(channels);
  std::vector<double> mean(channels), squares(channels);
  int64_t block = std::max<int64_t>(1, kBlockElements / channels);
  for (int64_t first = 0; first < rows; first += block) {
    int64_t n = std::min(block, rows - first);
    const stored_t<T>* from = x + first * channels;
    sum_columns<T>(n, channels, channels, from, part.data(), mean.data());
    for (int64_t c = 0; c < channels; c++) {
      mean[c] /= static_cast<double>(n);
      center[c] = C(mean[c]);
    }
    square_columns<T>(n, channels, channels, from, center.data(), part.data(), squares.data());
    result.merge(static_cast<double>(n), mean.data(), squares.data());
  }
  return result;
}

template <class Rows>
void for_rows(int64_t rows, int64_t channels, Rows body) {
  parallel_for(0, rows, std::max<int64_t>(1, kRowGrain / std::max<int64_t>(1, channels)), body);
}

template <class T>
struct ForwardLast {
  using C = compute_t<T>;
  int64_t rows, channels;
  const stored_t<T>* x;
  const C *weight, *bias;
  stored_t<T>* y;
  C *mean, *rstd, *unbiased;
  double eps;

  void run() const {
    Segments segments(rows, channels);
    std::vector<Moments> parts(segments.count, Moments(channels));
    segments.run([&](int64_t i, int64_t first, int64_t last) {
      parts[i] = moments_of<T>(x + first * channels, last - first, channels);
    });
    for (int64_t i = 1; i < segments.count; i++)
      parts[0].merge(parts[i].count, parts[i].mean.data(), parts[i].squares.data());
    const Moments& all = parts[0];
    std::vector<C> scale(channels), shift(channels);
    for (int64_t c = 0; c < channels; c++) {
      mean[c] = C(all.mean[c]);
      rstd[c] = C(norm_rstd(all.squares[c], static_cast<double>(rows), eps));
      unbiased[c] = C(unbiased_variance(all.squares[c], static_cast<double>(rows)));
      scale[c] = weight ? rstd[c] * weight[c] : rstd[c];
      shift[c] = bias ? bias[c] : C(0);
    }
    for_rows(rows, channels, [&](int64_t first, int64_t last) {
      apply_rows<T>(last - first, channels, channels, x + first * channels, mean, scale.data(), shift.data(),
                    y + first * channels);
    });
  }
};

template <class T>
struct BackwardLast {
  using C = compute_t<T>;
  int64_t rows, channels;
  const stored_t<T>*g, *x;
  const C *weight, *mean, *rstd;
  stored_t<T>* dx;  // null: not wanted
  C *dw, *db;

  void run() const {
    Segments segments(rows, channels);
    // Sums of g and of g (x - mean), one pair of rows a segment.
    std::vector<double> sums(2 * segments.count * channels);
    segments.run([&](int64_t i, int64_t first, int64_t last) {
      sum_segment(first, last, sums.data() + 2 * i * channels);
    });
    for (int64_t i = 1; i < segments.count; i++)
      for (int64_t j = 0; j < 2 * channels; j++) sums[j] += sums[2 * i * channels + j];
    std::vector<C> p(channels), q(channels), rest(channels);
    for (int64_t c = 0; c < channels; c++) {
      double r = rstd[c], w = weight ? static_cast<double>(weight[c]) : 1, n = static_cast<double>(rows);
      dw[c] = C(sums[channels + c] * r);
      db[c] = C(sums[c]);
      auto slope = NormSlope<C>::of(w, w * sums[c], w * sums[channels + c] * r, r, n);
      p[c] = slope.p, q[c] = slope.q, rest[c] = slope.rest;
    }
    if (!dx) return;
    const C* terms[] = {mean, p.data(), q.data(), rest.data()};
    for_rows(rows, channels, [&](int64_t first, int64_t last) {
      backward_rows<T>(last - first, channels, channels, g + first * channels, x + first * channels, terms,
                       dx + first * channels);
    });
  }

 private:
  // Blocks as in moments_of: the second of the two passes over g finds it in the first-level cache.
  void sum_segment(int64_t first, int64_t last, double* into) const {
    std::vector<C> part(channels);
    std::vector<double> total(channels);
    int64_t block = std::max<int64_t>(1, kBlockElements / channels);
    for (int64_t r = first; r < last; r += block) {
      int64_t n = std::min(block, last - r);
      const stored_t<T>*gr = g + r * channels, *xr = x + r * channels;
      sum_columns<T>(n, channels, channels, gr, part.data(), total.data());
      for (int64_t c = 0; c < channels; c++) into[c] += total[c];
      product_columns<T>(n, channels, channels, gr, xr, mean, part.data(), total.data());
      for (int64_t c = 0; c < channels; c++) into[channels + c] += total[c];
    }
  }
};

}  // namespace

}  // namespace tw::ops
