// The tiles' arithmetic against products with its matrices in double, for each instruction set that the
// processor has.
#include "ops/winograd_tiles_cpu.h"

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "test.h"

namespace tw::ops {

namespace {

using Matrix = std::vector<std::vector<double>>;

const Matrix kBt = {{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}};
const Matrix kG = {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}};
const Matrix kAt = {{1, 1, 1, 0}, {0, 1, -1, -1}};

Matrix transposed(const Matrix& m) {
  Matrix t(m[0].size(), std::vector<double>(m.size()));
  for (size_t i = 0; i < m.size(); i++)
    for (size_t j = 0; j < m[0].size(); j++) t[j][i] = m[i][j];
  return t;
}

Matrix times(const Matrix& a, const Matrix& b) {
  Matrix c(a.size(), std::vector<double>(b[0].size()));
  for (size_t i = 0; i < a.size(); i++)
    for (size_t j = 0; j < b[0].size(); j++)
      for (size_t l = 0; l < b.size(); l++) c[i][j] += a[i][l] * b[l][j];
  return c;
}

// left x leftᵀ, where x is the square matrix of channel c: number k at x[k * step + c].
Matrix around(const Matrix& left, const std::vector<float>& x, int64_t step, int64_t c) {
  size_t side = left[0].size();
  Matrix middle(side, std::vector<double>(side));
  for (size_t i = 0; i < side * side; i++)
    middle[i / side][i % side] = x[i * static_cast<size_t>(step) + static_cast<size_t>(c)];
  return times(times(left, middle), transposed(left));
}

std::vector<float> numbers(int64_t count) {
  std::mt19937 engine(7);
  std::normal_distribution<float> normal;
  std::vector<float> drawn(static_cast<size_t>(count));
  for (float& x : drawn) x = normal(engine);
  return drawn;
}

void expect_near(const Matrix& wanted, const std::vector<float>& got, int64_t step, int64_t c) {
  size_t width = wanted[0].size();
  for (size_t i = 0; i < wanted.size() * width; i++) {
    double value = got[i * static_cast<size_t>(step) + static_cast<size_t>(c)];
    CHECK(std::fabs(value - wanted[i / width][i % width]) < 1e-5);
  }
}

template <class Body>
void with_tiles(Body body) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("x86-64-v4")) body(kWinogradAvx512);
  if (__builtin_cpu_supports("x86-64-v3")) body(kWinogradAvx2);
#endif
}

constexpr int64_t kChannels = 64;

template <class T>
std::vector<T*> rows_of(std::vector<float>& memory, int64_t count) {
  std::vector<T*> rows;
  for (int64_t i = 0; i < count; i++) rows.push_back(memory.data() + i * kChannels);
  return rows;
}

}  // namespace

TEST(inputs_outputs_and_gradients_of_a_tile) {
  with_tiles([](const WinogradTiles& tiles) {
    std::vector<float> x = numbers(16 * kChannels), v(x.size()), y(4 * kChannels), bias = numbers(kChannels);
    tiles.input(rows_of<const float>(x, 16).data(), kChannels, v.data(), kChannels);
    CHECK(tiles.output(x.data(), kChannels, kChannels, nullptr, rows_of<float>(y, 4).data()));
    std::vector<float> of_y(16 * kChannels), with_bias(y.size());
    tiles.gradient(rows_of<const float>(y, 4).data(), kChannels, of_y.data(), kChannels);
    tiles.output(x.data(), kChannels, kChannels, bias.data(), rows_of<float>(with_bias, 4).data());
    for (int64_t c = 0; c < kChannels; c++) {
      expect_near(around(kBt, x, kChannels, c), v, kChannels, c);
      expect_near(around(kAt, x, kChannels, c), y, kChannels, c);
      expect_near(around(transposed(kAt), y, kChannels, c), of_y, kChannels, c);
    }
    for (size_t i = 0; i < y.size(); i++) CHECK(with_bias[i] == y[i] + bias[i % kChannels]);
  });
}

TEST(weights_and_their_gradients) {
  with_tiles([](const WinogradTiles& tiles) {
    int64_t lanes = kWinogradLanes;
    std::vector<float> w = numbers(9 * lanes), u(static_cast<size_t>(16 * lanes)), back(w.size()),
                       zeros(static_cast<size_t>(lanes));
    tiles.weight(w.data(), lanes, u.data());
    tiles.weight_gradient(u.data(), lanes, back.data(), lanes, zeros.data());
    for (int64_t c = 0; c < lanes; c++) {
      expect_near(around(kG, w, lanes, c), u, lanes, c);
      expect_near(around(transposed(kG), u, lanes, c), back, lanes, c);
    }
    for (float zero : zeros) CHECK(zero == 0);
  });
}

TEST(what_is_not_finite_is_told) {
  with_tiles([](const WinogradTiles& tiles) {
    for (int64_t at : {int64_t{0}, int64_t{13}, kChannels - 1}) {
      std::vector<float> m = numbers(16 * kChannels), y(4 * kChannels);
      m[static_cast<size_t>(5 * kChannels + at)] = std::numeric_limits<float>::infinity();
      CHECK(!tiles.output(m.data(), kChannels, kChannels, nullptr, rows_of<float>(y, 4).data()));
    }
    for (int64_t at = 0; at < kWinogradLanes; at++) {
      std::vector<float> u = numbers(16 * kWinogradLanes), w(9 * kWinogradLanes), zeros(kWinogradLanes);
      u[static_cast<size_t>(6 * kWinogradLanes + at)] = std::numeric_limits<float>::quiet_NaN();
      tiles.weight_gradient(u.data(), kWinogradLanes, w.data(), kWinogradLanes, zeros.data());
      for (int64_t lane = 0; lane < kWinogradLanes; lane++)
        CHECK((zeros[static_cast<size_t>(lane)] != 0) == (lane == at));
    }
  });
}

TEST(products_of_any_number_of_rows) {
  constexpr int64_t kInners = 37;
  with_tiles([](const WinogradTiles& tiles) {
    std::vector<float> a = numbers(20 * kInners), b = numbers(kInners * kWinogradPanel);
    for (int64_t rows = 1; rows <= 20; rows++)
      for (bool by_columns : {false, true})
        for (bool accumulate : {false, true}) {
          std::vector<float> c(static_cast<size_t>((rows + 1) * kWinogradPanel), 0.5f);
          int64_t a_row = by_columns ? 1 : kInners, a_inner = by_columns ? 20 : 1;
          tiles.product({rows, kInners, a.data(), a_row, a_inner, b.data(), kWinogradPanel, c.data(),
                         kWinogradPanel, accumulate});
          for (int64_t i = 0; i < rows * kWinogradPanel; i++) {
            int64_t r = i / kWinogradPanel, j = i % kWinogradPanel;
            double sum = accumulate ? 0.5 : 0;
            for (int64_t l = 0; l < kInners; l++)
              sum += static_cast<double>(a[static_cast<size_t>(r * a_row + l * a_inner)]) *
                     static_cast<double>(b[static_cast<size_t>(l * kWinogradPanel + j)]);
            CHECK(std::fabs(c[static_cast<size_t>(i)] - sum) < 1e-4);
          }
          for (int64_t j = 0; j < kWinogradPanel; j++)
            CHECK(c[static_cast<size_t>(rows * kWinogradPanel + j)] == 0.5f);
        }
  });
}

}  // namespace tw::ops
