// One product of matrices, or a batch of them, by the vendor's library (vendor/gemm.cc); the emulator has a
// plain function in its place.
#pragma once

#include <cstdint>

#include "base/dtype.h"
#include "cuda/common/runtime.h"

namespace tw::cuda {

// A matrix of a batch: elements from row to row, from column to column (one of them 1), and from matrix to
// matrix.
struct GemmMatrix {
  const void* data;
  int64_t down, right, batch;
};

// c = alpha a b + beta c + bias, for each of a batch: a is [m, k], b [k, n], c [m, n] by rows. Sums are in
// float for float and the half types, in double for double, in their own dtype for complex numbers, which
// have no bias. With beta 0 what c held is not read; `bias` may
// be null.
struct Gemm {
  const char* op;
  DType dtype;
  int64_t m, n, k, batches;
  GemmMatrix a, b;
  void* c;
  int64_t c_down, c_batch;
  complex128 alpha, beta;
  const void* bias;  // [n]
};

// Queues it on the stream of the current device; throws kDevice.
void run_gemm(const Gemm& gemm, cudaStream_t stream);

}  // namespace tw::cuda
