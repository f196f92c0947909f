// Barriers in shared memory that threads and copies of tiles arrive at (mbarrier, of compute capability 9.0):
//
//   begin_barrier(&barrier, arrivals);       // one thread; others may use it after publish_barriers() and
//   publish_barriers();                      // a barrier of the block
//   arrive(&barrier);                        // one of the arrivals of a phase
//   arrive_and_expect(&barrier, size_bytes); // the same, and the phase waits for so many bytes of copies
//   wait_for(&barrier, phase);               // until the phase of that number is over
//
// Phases count from 0; they are told apart by being odd or even, so nobody may be more than one behind. What
// was read or written before an arrival is over for those who have waited for the phase.
#pragma once

#include <cstdint>

#include "cuda/common/platform.h"

namespace tw::cuda {

struct alignas(8) Barrier {
  uint64_t state;
};

}  // namespace tw::cuda

#ifdef TW_CUDA_EMULATOR
#include "tests/cuda/emulator/barrier.h"
#elif defined(__CUDACC__)  // files for the host need no more than the types

namespace tw::cuda {

TW_DEVICE unsigned shared_address(const void* data) {
  return static_cast<unsigned>(__cvta_generic_to_shared(data));
}

TW_DEVICE void begin_barrier(Barrier* barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals)
               : "memory");
}

// Copies of tiles see the barriers too.
TW_DEVICE void publish_barriers() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

TW_DEVICE void arrive(Barrier* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}

TW_DEVICE void arrive_and_expect(Barrier* barrier, int size_bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
               "r"(size_bytes)
               : "memory");
}

TW_DEVICE void wait_for(Barrier* barrier, int phase) {
  uint32_t over = 0;
  while (!over)
    asm volatile(
        "{\n"
        ".reg .pred over;\n"
        "mbarrier.try_wait.parity.shared::cta.b64 over, [%1], %2;\n"
        "selp.b32 %0, 1, 0, over;\n"
        "}"
        : "=r"(over)
        : "r"(shared_address(barrier)), "r"(phase & 1)
        : "memory");
}

}  // namespace tw::cuda
#endif
