// The arithmetic of Winograd's F(2x2, 3x3), with AVX-512: transforms of tiles, 16 channels at a time, and
// products of small matrices that lie in the cache. V = Bᵀ x B, U = G w Gᵀ, y = Aᵀ (U · V) A; dU = (A dy Aᵀ)
// · V, dw = Gᵀ dU G.
#pragma once

#include <cstdint>

namespace tw::ops {

inline constexpr int64_t kWinogradLanes = 16;  // channels in a vector
inline constexpr int64_t kWinogradPanel = 64;  // columns of a product that are worked on at a time

// 16 pixels, row by row, to 16 products; number k goes to v + k step.
void winograd_input(const float* const* pixels, int64_t channels, float* v, int64_t step);
// 16 products, number k at m + k step, to 4 pixels, plus the bias unless it is null. True where all are
// finite.
bool winograd_output(const float* m, int64_t step, int64_t channels, const float* bias, float* const* pixels);
// A dy Aᵀ of 4 pixels.
void winograd_gradient(const float* const* pixels, int64_t channels, float* v, int64_t step);

// G w Gᵀ for 16 pairs of channels: 9 taps, number k at w + k step, to u[16][16], those of one product
// together.
void winograd_weight(const float* w, int64_t step, float* u);
// Gᵀ dU G for 16 pairs of channels: 16 products, number k at u + k step, to 9 taps at w + k w_step. Adds what
// is not finite to *zeros.
void winograd_weight_gradient(const float* u, int64_t step, float* w, int64_t w_step, float* zeros);

// c[rows, 64] (+)= a[rows, k] b[k, 64]; element (i, l) of a at a[i a_row + l a_inner].
void winograd_product(int64_t rows, int64_t k, const float* a, int64_t a_row, int64_t a_inner, const float* b,
                      int64_t b_row, float* c, int64_t c_row, bool accumulate);

}  // namespace tw::ops
