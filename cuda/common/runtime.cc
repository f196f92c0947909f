#include "cuda/common/runtime.h"
#include "base/error.h"

namespace tw::cuda {

void check(cudaError_t error, const char* what) {
  TW_CHECK(error == cudaSuccess, kDevice, what, ": ", cudaGetErrorString(error));
}

int compute_capability() {
  int device, major, minor;
  check(cudaGetDevice(&device), "compute_capability");
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device), "compute_capability");
  check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device), "compute_capability");
  return 10 * major + minor;
}

#ifndef TW_CUDA_EMULATOR
// compute-sanitizer watches whole segments: nothing learns of the tensors in them.
void mark_allocated(const void*, size_t) {}
void mark_free(const void*, size_t) {}
#endif

}  // namespace tw::cuda
