// Copies from global to shared memory that go on while the thread works (cp.async):
//
//   copy_async<16>(to, from, inside);  // zeros where it is not inside: nothing is read there
//   commit_copies();                   // the copies since the last call are a group
//   wait_for_copies<1>();              // all of the thread's groups have arrived but the newest one
//
// `from` may be any address where nothing is read. A thread waits for its own copies alone: what others have
// copied is there after a barrier that follows. Both addresses are multiples of the size, which is 4, 8 or 16
// bytes. No thread returns while its copies go on.
#pragma once

#include "cuda/common/platform.h"

#ifdef TW_CUDA_EMULATOR
#include "tests/cuda/emulator/async_copy.h"
#else

namespace tw::cuda {

template <int kBytes>
TW_DEVICE void copy_async(void* to, const void* from, bool read) {
  static_assert(kBytes == 4 || kBytes == 8 || kBytes == 16);
  auto address = static_cast<unsigned>(__cvta_generic_to_shared(to));
  int wanted = read ? kBytes : 0;
  // 16 bytes may pass by the first-level cache, which what is read once does not need.
  if constexpr (kBytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from), "r"(wanted)
                 : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(address), "l"(from), "n"(kBytes),
                 "r"(wanted)
                 : "memory");
}

TW_DEVICE void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }

template <int kLeft>
TW_DEVICE void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kLeft) : "memory");
}

}  // namespace tw::cuda
#endif
