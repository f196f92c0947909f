// The arithmetic of Winograd's F(2x2, 3x3): transforms of tiles, and products of small matrices that lie in
// the cache. V = Bᵀ x B, U = G w Gᵀ, y = Aᵀ (U · V) A; dU = (A dy Aᵀ) · V, dw = Gᵀ dU G.
#pragma once

#include <cstdint>

namespace tw::ops {

inline constexpr int64_t kWinogradLanes = 16;  // channels that weights are transformed for at a time
inline constexpr int64_t kWinogradPanel = 64;  // columns of a product

// c[rows, 64] (+)= a[rows, inners] b[inners, 64]; element (i, l) of a at a[i a_row + l a_inner].
struct WinogradProduct {
  int64_t rows, inners;
  const float* a;
  int64_t a_row, a_inner;
  const float* b;
  int64_t b_row;
  float* c;
  int64_t c_row;
  bool accumulate;
};

struct WinogradTiles {
  // 16 pixels, row by row, to 16 products; number k goes to v + k step.
  void (*input)(const float* const* pixels, int64_t channels, float* v, int64_t step);
  // 16 products, number k at m + k step, to 4 pixels, plus the bias unless it is null. True where all are
  // finite.
  bool (*output)(const float* m, int64_t step, int64_t channels, const float* bias, float* const* pixels);
  // A dy Aᵀ of 4 pixels.
  void (*gradient)(const float* const* pixels, int64_t channels, float* v, int64_t step);
  // G w Gᵀ for 16 pairs of channels: 9 taps, number k at w + k step, to u[16][16], those of one product
  // together.
  void (*weight)(const float* w, int64_t step, float* u);
  // Gᵀ dU G for 16 pairs of channels: 16 products, number k at u + k step, to 9 taps at w + k w_step. Adds
  // what is not finite to zeros[16].
  void (*weight_gradient)(const float* u, int64_t step, float* w, int64_t w_step, float* zeros);
  void (*product)(const WinogradProduct&);
  int64_t chunk_bytes;  // of V and the products of a chunk: stays in the second-level cache
};

// For the vectors that the processor has; null where it has none of AVX-512 and AVX2.
const WinogradTiles* winograd_tiles();

extern const WinogradTiles kWinogradAvx512, kWinogradAvx2;

}  // namespace tw::ops
