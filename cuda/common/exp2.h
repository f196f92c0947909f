// 2^x in one instruction, to about 2^-22 of it; 0 for -inf.
#pragma once

#include <cmath>

#include "cuda/common/platform.h"

namespace tw::cuda {

TW_DEVICE float fast_exp2(float x) {
#ifndef TW_CUDA_EMULATOR
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
#else
  return std::exp2(x);
#endif
}

}  // namespace tw::cuda
