// Starting kernels: launch("name", kernel<...>, Grid{blocks, threads}, stream, arguments...).
#pragma once

#include <tuple>
#include <type_traits>
#include <utility>

#include "cuda/common/platform.h"
#include "cuda/common/runtime.h"

namespace tw::cuda {

struct Grid {
  unsigned blocks;
  unsigned threads;
  unsigned shared_bytes = 0;  // dynamic
};

// The stream of the thread's current device that work goes to; see device/streams.h.
cudaStream_t current_stream();

// Queues a kernel; throws kDevice naming it when it cannot be started. An empty grid is no launch.
template <class... Params, class... Args>
void launch_on([[maybe_unused]] cudaStream_t stream, const char* name, void (*kernel)(Params...), Grid grid,
               Args&&... args) {
  static_assert((std::is_trivially_copyable_v<Params> && ...), "arguments of kernels are copied as bytes");
  if (grid.blocks == 0) return;
#ifdef TW_CUDA_EMULATOR
  emulator::launch({grid.blocks, grid.threads, grid.shared_bytes}, kernel,
                   Params(std::forward<Args>(args))...);
#else
  // Beyond 48 KiB shared memory has to be asked for.
  if (grid.shared_bytes > 48 * 1024)
    check(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                               cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(grid.shared_bytes)),
          name);
  std::tuple<Params...> params(std::forward<Args>(args)...);
  auto start = [&](auto&... param) {
    void* pointers[] = {&param...};
    return cudaLaunchKernel(reinterpret_cast<const void*>(kernel), grid.blocks, grid.threads, pointers,
                            grid.shared_bytes, stream);
  };
  check(std::apply(start, params), name);
#endif
  check(cudaGetLastError(), name);
}

template <class... Params, class... Args>
void launch(const char* name, void (*kernel)(Params...), Grid grid, Args&&... args) {
  launch_on(current_stream(), name, kernel, grid, std::forward<Args>(args)...);
}

}  // namespace tw::cuda
