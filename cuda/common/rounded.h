// Products that are rounded, which a compiler would join with a sum.
#pragma once

#include "cuda/common/platform.h"

namespace tw::cuda {

#ifdef TW_CUDA_EMULATOR
template <class T>
T rounded_product(T a, T b) {
  T product = a * b;
  asm("" : "+x"(product));  // the compiler does not know where it comes from
  return product;
}
#else
TW_DEVICE float rounded_product(float a, float b) { return __fmul_rn(a, b); }
TW_DEVICE double rounded_product(double a, double b) { return __dmul_rn(a, b); }
#endif

}  // namespace tw::cuda
