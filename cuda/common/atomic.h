// Atomic sums in global and shared memory. The order of float sums is not fixed: only where that is wanted.
#pragma once

#include <cstdint>

#include "cuda/common/platform.h"

namespace tw::cuda {

TW_DEVICE float atomic_add(float* at, float value) { return atomicAdd(at, value); }
TW_DEVICE double atomic_add(double* at, double value) { return atomicAdd(at, value); }
TW_DEVICE int atomic_add(int* at, int value) { return atomicAdd(at, value); }
TW_DEVICE unsigned atomic_add(unsigned* at, unsigned value) { return atomicAdd(at, value); }

// Integers of 64 bits wrap around alike with and without sign.
TW_DEVICE int64_t atomic_add(int64_t* at, int64_t value) {
  auto* bits = reinterpret_cast<unsigned long long*>(at);
  return static_cast<int64_t>(atomicAdd(bits, static_cast<unsigned long long>(value)));
}

}  // namespace tw::cuda
