#include "ops/winograd_tiles_cpu.h"

#include "device/cpu/clones.h"

// Called only where the processor has AVX-512.
#if defined(__x86_64__)
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v4")
#endif

namespace tw::ops {

namespace {

typedef float Vector __attribute__((vector_size(64), aligned(4), may_alias));

TW_INLINE Vector load(const float* p) { return *reinterpret_cast<const Vector*>(p); }
TW_INLINE void store(float* p, Vector v) { *reinterpret_cast<Vector*>(p) = v; }

template <int kRows>
TW_INLINE void block(int64_t k, const float* a, int64_t a_row, int64_t a_inner, const float* b, int64_t b_row,
                     float* c, int64_t c_row, bool accumulate) {
  Vector sums[kRows][4];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; r++)
#pragma GCC unroll 4
    for (int j = 0; j < 4; j++) sums[r][j] = accumulate ? load(c + r * c_row + 16 * j) : Vector{};
  for (int64_t l = 0; l < k; l++) {
    const float* row = b + l * b_row;
    Vector b0 = load(row), b1 = load(row + 16), b2 = load(row + 32), b3 = load(row + 48);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; r++) {
      float one = a[r * a_row + l * a_inner];
      sums[r][0] += one * b0;
      sums[r][1] += one * b1;
      sums[r][2] += one * b2;
      sums[r][3] += one * b3;
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; r++)
#pragma GCC unroll 4
    for (int j = 0; j < 4; j++) store(c + r * c_row + 16 * j, sums[r][j]);
}

}  // namespace

void winograd_input(const float* const* pixels, int64_t channels, float* v, int64_t step) {
  for (int64_t c = 0; c < channels; c += kWinogradLanes) {
    Vector t[4][4];
#pragma GCC unroll 4
    for (int j = 0; j < 4; j++) {
      Vector d0 = load(pixels[j] + c), d1 = load(pixels[4 + j] + c), d2 = load(pixels[8 + j] + c),
             d3 = load(pixels[12 + j] + c);
      t[0][j] = d0 - d2;
      t[1][j] = d1 + d2;
      t[2][j] = d2 - d1;
      t[3][j] = d1 - d3;
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
      float* to = v + 4 * i * step + c;
      store(to, t[i][0] - t[i][2]);
      store(to + step, t[i][1] + t[i][2]);
      store(to + 2 * step, t[i][2] - t[i][1]);
      store(to + 3 * step, t[i][1] - t[i][3]);
    }
  }
}

bool winograd_output(const float* m, int64_t step, int64_t channels, const float* bias,
                     float* const* pixels) {
  Vector zeros{};  // stays 0 as long as everything is finite
  for (int64_t c = 0; c < channels; c += kWinogradLanes) {
    Vector s[2][4], add = bias ? load(bias + c) : Vector{};
#pragma GCC unroll 4
    for (int j = 0; j < 4; j++) {
      const float* from = m + j * step + c;
      Vector m0 = load(from), m1 = load(from + 4 * step), m2 = load(from + 8 * step),
             m3 = load(from + 12 * step);
      s[0][j] = m0 + m1 + m2;
      s[1][j] = m1 - m2 - m3;
    }
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++) {
      Vector left = s[i][0] + s[i][1] + s[i][2], right = s[i][1] - s[i][2] - s[i][3];
      zeros += left * 0.0f + right * 0.0f;
      if (pixels[2 * i]) store(pixels[2 * i] + c, bias ? left + add : left);
      if (pixels[2 * i + 1]) store(pixels[2 * i + 1] + c, bias ? right + add : right);
    }
  }
  bool finite = true;
  for (int lane = 0; lane < 16; lane++) finite &= zeros[lane] == 0;
  return finite;
}

void winograd_gradient(const float* const* pixels, int64_t channels, float* v, int64_t step) {
  for (int64_t c = 0; c < channels; c += kWinogradLanes) {
    Vector t[4][2];
#pragma GCC unroll 2
    for (int j = 0; j < 2; j++) {
      Vector g0 = load(pixels[j] + c), g1 = load(pixels[2 + j] + c);
      t[0][j] = g0;
      t[1][j] = g0 + g1;
      t[2][j] = g0 - g1;
      t[3][j] = -g1;
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
      float* to = v + 4 * i * step + c;
      store(to, t[i][0]);
      store(to + step, t[i][0] + t[i][1]);
      store(to + 2 * step, t[i][0] - t[i][1]);
      store(to + 3 * step, -t[i][1]);
    }
  }
}

void winograd_weight(const float* w, int64_t step, float* u) {
  Vector t[4][3];
#pragma GCC unroll 3
  for (int j = 0; j < 3; j++) {
    Vector w0 = load(w + j * step), w1 = load(w + (3 + j) * step), w2 = load(w + (6 + j) * step);
    Vector sum = 0.5f * (w0 + w2), half = 0.5f * w1;
    t[0][j] = w0;
    t[1][j] = sum + half;
    t[2][j] = sum - half;
    t[3][j] = w2;
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; i++) {
    Vector sum = 0.5f * (t[i][0] + t[i][2]), half = 0.5f * t[i][1];
    float* to = u + 4 * i * kWinogradLanes;
    store(to, t[i][0]);
    store(to + kWinogradLanes, sum + half);
    store(to + 2 * kWinogradLanes, sum - half);
    store(to + 3 * kWinogradLanes, t[i][2]);
  }
}

void winograd_weight_gradient(const float* u, int64_t step, float* w, int64_t w_step, float* zeros) {
  Vector t[3][4], rest = load(zeros);
#pragma GCC unroll 4
  for (int j = 0; j < 4; j++) {
    Vector m0 = load(u + j * step), m1 = load(u + (4 + j) * step), m2 = load(u + (8 + j) * step),
           m3 = load(u + (12 + j) * step);
    Vector sum = 0.5f * (m1 + m2);
    t[0][j] = m0 + sum;
    t[1][j] = 0.5f * (m1 - m2);
    t[2][j] = sum + m3;
  }
#pragma GCC unroll 3
  for (int i = 0; i < 3; i++) {
    Vector sum = 0.5f * (t[i][1] + t[i][2]);
    Vector row[] = {t[i][0] + sum, 0.5f * (t[i][1] - t[i][2]), sum + t[i][3]};
#pragma GCC unroll 3
    for (int j = 0; j < 3; j++) {
      store(w + (3 * i + j) * w_step, row[j]);
      rest += row[j] * 0.0f;
    }
  }
  store(zeros, rest);
}

void winograd_product(int64_t rows, int64_t k, const float* a, int64_t a_row, int64_t a_inner, const float* b,
                      int64_t b_row, float* c, int64_t c_row, bool accumulate) {
  int64_t r = 0;
  for (; r + 6 <= rows; r += 6)
    block<6>(k, a + r * a_row, a_row, a_inner, b, b_row, c + r * c_row, c_row, accumulate);
  const float* from = a + r * a_row;
  float* to = c + r * c_row;
  switch (rows - r) {
    case 5:
      return block<5>(k, from, a_row, a_inner, b, b_row, to, c_row, accumulate);
    case 4:
      return block<4>(k, from, a_row, a_inner, b, b_row, to, c_row, accumulate);
    case 3:
      return block<3>(k, from, a_row, a_inner, b, b_row, to, c_row, accumulate);
    case 2:
      return block<2>(k, from, a_row, a_inner, b, b_row, to, c_row, accumulate);
    case 1:
      return block<1>(k, from, a_row, a_inner, b, b_row, to, c_row, accumulate);
    default:
      return;
  }
}

}  // namespace tw::ops

#if defined(__x86_64__)
#pragma GCC pop_options
#endif
