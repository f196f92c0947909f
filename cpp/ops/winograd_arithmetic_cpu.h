// The arithmetic of winograd_tiles_cpu.h over Set::Vector. Include it last, where the target of
// functions is set to a processor that has such vectors.
#pragma once

#include "device/cpu/clones.h"
#include "ops/winograd_tiles_cpu.h"

namespace tw::ops {

// Sums of up to kRows rows by kAcross vectors stay in registers while a product goes through its inner
// indices.
template <class Set, int kRows, int kAcross>
class WinogradArithmetic {
 public:
  static constexpr WinogradTiles table(int64_t chunk_bytes) {
    return {input, output, gradient, weight, weight_gradient, product, chunk_bytes};
  }

 private:
  using Vector = typename Set::Vector;  // of floats, at any multiple of 4 bytes
  static constexpr int kLanes = sizeof(Vector) / sizeof(float);
  static constexpr int kColumns = kAcross * kLanes;
  static_assert(kWinogradLanes % kLanes == 0 && kWinogradPanel % kColumns == 0);

  static TW_INLINE Vector load(const float* p) { return *reinterpret_cast<const Vector*>(p); }
  static TW_INLINE void store(float* p, Vector v) { *reinterpret_cast<Vector*>(p) = v; }

  static void input(const float* const* pixels, int64_t channels, float* v, int64_t step) {
    for (int64_t c = 0; c < channels; c += kLanes) {
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

  static bool output(const float* m, int64_t step, int64_t channels, const float* bias,
                     float* const* pixels) {
    Vector zeros{};  // stays 0 as long as everything is finite
    for (int64_t c = 0; c < channels; c += kLanes) {
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
    float lanes[kLanes];
    store(lanes, zeros);
    bool finite = true;
    for (float lane : lanes) finite &= lane == 0;
    return finite;
  }

  static void gradient(const float* const* pixels, int64_t channels, float* v, int64_t step) {
    for (int64_t c = 0; c < channels; c += kLanes) {
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

  static void weight(const float* w, int64_t step, float* u) {
    for (int64_t c = 0; c < kWinogradLanes; c += kLanes) {
      Vector t[4][3];
#pragma GCC unroll 3
      for (int j = 0; j < 3; j++) {
        const float* from = w + j * step + c;
        Vector w0 = load(from), w1 = load(from + 3 * step), w2 = load(from + 6 * step);
        Vector sum = 0.5f * (w0 + w2), half = 0.5f * w1;
        t[0][j] = w0;
        t[1][j] = sum + half;
        t[2][j] = sum - half;
        t[3][j] = w2;
      }
#pragma GCC unroll 4
      for (int i = 0; i < 4; i++) {
        Vector sum = 0.5f * (t[i][0] + t[i][2]), half = 0.5f * t[i][1];
        float* to = u + 4 * i * kWinogradLanes + c;
        store(to, t[i][0]);
        store(to + kWinogradLanes, sum + half);
        store(to + 2 * kWinogradLanes, sum - half);
        store(to + 3 * kWinogradLanes, t[i][2]);
      }
    }
  }

  static void weight_gradient(const float* u, int64_t step, float* w, int64_t w_step, float* zeros) {
    for (int64_t c = 0; c < kWinogradLanes; c += kLanes) {
      Vector t[3][4], rest = load(zeros + c);
#pragma GCC unroll 4
      for (int j = 0; j < 4; j++) {
        const float* from = u + j * step + c;
        Vector m0 = load(from), m1 = load(from + 4 * step), m2 = load(from + 8 * step),
               m3 = load(from + 12 * step);
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
          store(w + (3 * i + j) * w_step + c, row[j]);
          rest += row[j] * 0.0f;
        }
      }
      store(zeros + c, rest);
    }
  }

  template <int kCount>
  static TW_INLINE void block(const WinogradProduct& p, int64_t first, int64_t column) {
    const float *a = p.a + first * p.a_row, *b = p.b + column;
    float* c = p.c + first * p.c_row + column;
    Vector sums[kCount][kAcross];
#pragma GCC unroll 8
    for (int r = 0; r < kCount; r++)
#pragma GCC unroll 4
      for (int j = 0; j < kAcross; j++)
        sums[r][j] = p.accumulate ? load(c + r * p.c_row + kLanes * j) : Vector{};
    for (int64_t l = 0; l < p.inners; l++) {
      Vector row[kAcross];
#pragma GCC unroll 4
      for (int j = 0; j < kAcross; j++) row[j] = load(b + l * p.b_row + kLanes * j);
#pragma GCC unroll 8
      for (int r = 0; r < kCount; r++) {
        float one = a[r * p.a_row + l * p.a_inner];
#pragma GCC unroll 4
        for (int j = 0; j < kAcross; j++) sums[r][j] += one * row[j];
      }
    }
#pragma GCC unroll 8
    for (int r = 0; r < kCount; r++)
#pragma GCC unroll 4
      for (int j = 0; j < kAcross; j++) store(c + r * p.c_row + kLanes * j, sums[r][j]);
  }

  // The last rows, fewer than kCount + 1.
  template <int kCount>
  static TW_INLINE void rest(const WinogradProduct& p, int64_t first, int64_t column) {
    if constexpr (kCount > 0) {
      if (p.rows - first == kCount) return block<kCount>(p, first, column);
      rest<kCount - 1>(p, first, column);
    }
  }

  static void product(const WinogradProduct& p) {
    for (int64_t column = 0; column < kWinogradPanel; column += kColumns) {
      int64_t row = 0;
      for (; row + kRows <= p.rows; row += kRows) block<kRows>(p, row, column);
      rest<kRows - 1>(p, row, column);
    }
  }
};

}  // namespace tw::ops
