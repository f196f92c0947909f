// Copies that go on while the thread works: a copy's bytes arrive no sooner than its thread waits for it, and
// are the other threads' after a barrier that follows.
#pragma once

#include <cstddef>

namespace tw::cuda::emulator {

// Of the thread that runs: begins a copy, or the filling with zeros where `from` is not to be read; puts the
// copies begun since the last call in a group; waits for all groups but the newest `left`.
void begin_copy(void* to, const void* from, size_t size_bytes, bool read);
void commit_copies();
void wait_for_copies(int left);

// The block's threads begin, and the one that runs returns: a fault if its copies still go on.
void begin_copies(unsigned threads);
void check_copies_ended();

}  // namespace tw::cuda::emulator

namespace tw::cuda {

template <int kBytes>
void copy_async(void* to, const void* from, bool read) {
  static_assert(kBytes == 4 || kBytes == 8 || kBytes == 16);
  emulator::begin_copy(to, from, kBytes, read);
}
inline void commit_copies() { emulator::commit_copies(); }
template <int kLeft>
void wait_for_copies() {
  emulator::wait_for_copies(kLeft);
}

}  // namespace tw::cuda
