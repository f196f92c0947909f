// Products of float matrices by oneDNN, on the calling thread alone.
#pragma once

#include <cstdint>

#include "device/cpu/gemm.h"
#include "device/cpu/one_thread.h"

namespace tw::device {

// c[m, n] = alpha · a[m, k] b[k, n] + beta · c, c in rows of c_stride elements. Wants a OneThread around it.
void onednn_gemm(int64_t m, int64_t n, int64_t k, float alpha, Matrix<float> a, Matrix<float> b, float beta,
                 float* c, int64_t c_stride);

}  // namespace tw::device
