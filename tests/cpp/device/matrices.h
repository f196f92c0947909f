// Matrices for tests of products, and how far these are from sums in double.
#pragma once

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "device/cpu/gemm.h"

namespace tw::device {

// A matrix of rows x columns, kept by rows or by columns.
struct Stored {
  std::vector<float> data;
  int64_t rows, columns;
  bool by_columns;

  Stored(int64_t r, int64_t c, bool transposed, int seed)
      : data(static_cast<size_t>(r * c)), rows(r), columns(c), by_columns(transposed) {
    std::mt19937 random(static_cast<unsigned>(seed));
    std::normal_distribution<float> normal;
    for (float& x : data) x = normal(random);
  }
  Matrix<float> matrix() const {
    return by_columns ? Matrix<float>{data.data(), 1, rows} : Matrix<float>{data.data(), columns, 1};
  }
  float& at(int64_t i, int64_t j) {
    return data[static_cast<size_t>(by_columns ? j * rows + i : i * columns + j)];
  }
  float at(int64_t i, int64_t j) const {
    return data[static_cast<size_t>(by_columns ? j * rows + i : i * columns + j)];
  }
};

// Root mean square and largest error, in units of the sum of the magnitudes of what is added up.
struct Errors {
  double mean, largest;
};

inline Errors errors(const std::vector<float>& c, const Stored& a, const Stored& b) {
  double squares = 0, largest = 0;
  for (int64_t i = 0; i < a.rows; i++) {
    for (int64_t j = 0; j < b.columns; j++) {
      double sum = 0, size = 0;
      for (int64_t p = 0; p < a.columns; p++) {
        double term = static_cast<double>(a.at(i, p)) * b.at(p, j);
        sum += term;
        size += std::abs(term);
      }
      double error = std::abs(c[static_cast<size_t>(i * b.columns + j)] - sum) / size;
      squares += error * error;
      largest = std::max(largest, error);
    }
  }
  return {std::sqrt(squares / static_cast<double>(c.size())), largest};
}

}  // namespace tw::device
