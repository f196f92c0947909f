// Shared memory of the block that runs, and who touched each of its bytes since which barrier.
//
// Two accesses of different threads to one byte, of which one writes, are a race unless a barrier of the
// block stands between them, or one of the warp where both are lanes of it. A shuffle orders no memory.
// Atomic accesses race with plain ones alone.
#pragma once

#include <cstddef>

namespace tw::cuda::emulator {

enum class Access { kRead, kWrite, kAtomic };

// Begins a block: everything is unset again, `dynamic_bytes` are at hand.
void begin_shared(size_t dynamic_bytes);
bool is_shared(const void* data);
// Checks an access of the thread that runs; ends it with a fault.
void check_shared(const void* data, size_t size_bytes, Access access);
// An asynchronous copy of the thread that runs writes these bytes some time between the two calls, while
// nobody may touch them.
void begin_fill(const void* data, size_t size_bytes);
void end_fill(const void* data, size_t size_bytes);

}  // namespace tw::cuda::emulator
