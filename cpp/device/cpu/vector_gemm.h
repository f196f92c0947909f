// Products of a float matrix of few rows with a transposed one, x Wᵀ of a small batch, by our own loops,
// where the processor has AVX-512. BLAS packs what it multiplies with; here a weight is read where it is,
// once.
//
// A number of the result is a chain of fused multiply-adds over up to 512 inner indices, in order, and such
// sums are added one after the other. It depends on its row and column and on nothing else: not on how the
// result is cut among threads, nor on how many rows there are beside it.
//
// Floor: 2 m n k flops at 64 a cycle and core, or the bytes of b.
#pragma once

#include "device/cpu/gemm.h"
#include "device/cpu/vector_tile.h"

namespace tw::device {

// c[m, n] = alpha · a[m, k] b[k, n] + beta · c; with a bias [n], which beta = 0 goes with, + bias.
struct VectorProduct {
  int64_t m, n, k;
  float alpha;
  Matrix<float> a, b;
  float beta;
  float* c;
  int64_t c_stride;
  const float* bias = nullptr;
};

// Whether a product a b of these sizes is faster so than by a library.
bool vector_gemm_pays(int64_t m, int64_t n, int64_t k, const Matrix<float>& b);

// Wants what vector_gemm_pays() does, and a k of at least 1.
void vector_gemm(const VectorProduct& product);

}  // namespace tw::device
