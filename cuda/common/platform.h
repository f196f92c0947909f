// What device code is written against: CUDA itself, or the emulator that runs the same sources in tests on
// any machine. No file outside this folder tells them apart.
//
// Rules that make both possible (docs/cuda.md): launches through launch.h; static shared memory through
// TW_SHARED, dynamic through dynamic_shared(); full warp masks; block sizes from block_threads(); no return
// before a barrier.
#pragma once

#ifdef TW_CUDA_EMULATOR
#include "tests/cuda/emulator/device.h"
#else
#include <cuda_runtime.h>

#define TW_UNROLL _Pragma("unroll")

// An array in the block's shared memory: TW_SHARED(float, partial, 32);
#define TW_SHARED(type, name, count) __shared__ type name[count]

namespace tw::cuda {

// Where the launch's dynamic shared memory begins, aligned to 16 bytes.
template <class T>
__device__ __forceinline__ T* dynamic_shared() {
  extern __shared__ __align__(16) unsigned char tw_dynamic_shared[];
  return reinterpret_cast<T*>(tw_dynamic_shared);
}

// Tools that watch accesses learn of one of `size_bytes`, which the compiler may split.
__device__ __forceinline__ void note_wide_access(const void*, size_t) {}

// Threads of a block of a kernel that would like `wanted`. The emulator takes fewer.
constexpr int block_threads(int wanted) { return wanted; }

// Whether the code that is being compiled may use what compute capability 9.0a alone has; and, for host code
// of the files that have such code, whether it is in the library (cuda/CMakeLists.txt).
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
inline constexpr bool kIs90a = true;
#else
inline constexpr bool kIs90a = false;
#endif
#ifdef TW_CUDA_HAS_90A
inline constexpr bool kHas90a = TW_CUDA_HAS_90A;
#endif

}  // namespace tw::cuda
#endif

#define TW_DEVICE __device__ __forceinline__
#define TW_BOTH __host__ __device__ __forceinline__

namespace tw::cuda {

inline constexpr int kLanes = 32;
inline constexpr unsigned kFullMask = 0xffffffffu;

}  // namespace tw::cuda
