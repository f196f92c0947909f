// Products of float matrices on the matrix unit, as exact as BLAS's.
//
// A float is the sum of three bfloat16 (8 bits of the significand each), so a product of two floats is nine
// products that the unit forms exactly; the three smallest, together below 2^-24 of the whole, are left out
// (Henry, Tang and Heinecke, "Leveraging the bfloat16 artificial intelligence datatype for higher-precision
// computations", 2019). The unit adds 32 inner indices before it rounds into the sum, so errors are smaller
// than those of a chain of fused multiply-adds: see tests/cpp/device/amx_gemm_test.cc. What the unit cannot
// do is left to BLAS, in pieces of 32 rows and 256 columns: infinities and NaN, and rows whose elements are
// all so small that parts or products would be denormal, which the unit counts as zero.
//
// Floor: six times the flops at the unit's 1024 a cycle, which is 2.7 times as fast as a core's two 512-bit
// fused multiply-adds a cycle.
#pragma once

#include "device/cpu/gemm.h"

namespace tw::device::amx {

// Whether a product of these sizes gains. Depends on nothing but the sizes and the machine.
bool pays(int64_t m, int64_t n, int64_t k);

// c = alpha · a b + beta · c, cut among the threads; every element is the same however it is cut.
void gemm(int64_t m, int64_t n, int64_t k, float alpha, Matrix<float> a, Matrix<float> b, float beta,
          float* c, int64_t c_stride);

}  // namespace tw::device::amx
