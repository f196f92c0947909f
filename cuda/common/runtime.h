// The CUDA runtime's interface for host code, and how its failures become errors.
#pragma once

#ifdef TW_CUDA_EMULATOR
#include "tests/cuda/emulator/runtime.h"
#else
#include <cuda_runtime_api.h>
#endif

namespace tw::cuda {

// Throws kDevice "what: the runtime's sentence" unless `error` is a success.
void check(cudaError_t error, const char* what);

// Of the thread's current device: 90 for 9.0.
int compute_capability();

// For tools that watch memory: `size_bytes` from `data` on now belong to a tensor, or to nobody.
void mark_allocated(const void* data, size_t size_bytes);
void mark_free(const void* data, size_t size_bytes);

}  // namespace tw::cuda
