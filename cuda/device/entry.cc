// What the library exports. Null for a caller that was built with other headers.
#include <device/abi.h>  // generated, see cmake/abi.cmake

#include "cuda/device/cuda_backend.h"

extern "C" __attribute__((visibility("default"))) tw::device::Accelerator* thalweg_backend(
    uint64_t abi_hash) {
  return abi_hash == tw::device::kAbiHash ? &tw::cuda::backend() : nullptr;
}
