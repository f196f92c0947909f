// Products of float matrices by oneDNN, on the calling thread alone.
#pragma once

#include <cstdint>

#include "device/cpu/gemm.h"

namespace tw::device {

// oneDNN runs on this thread alone while this lives. The count of OpenMP's threads belongs to the calling
// thread and to everybody in the process who uses the same run time, as torch does: it is put back.
class OneThread {
 public:
  OneThread();
  ~OneThread();
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

// c[m, n] = alpha · a[m, k] b[k, n] + beta · c, c in rows of c_stride elements. Wants a OneThread around it.
void onednn_gemm(int64_t m, int64_t n, int64_t k, float alpha, Matrix<float> a, Matrix<float> b, float beta,
                 float* c, int64_t c_stride);

}  // namespace tw::device
