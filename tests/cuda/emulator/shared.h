// Shared memory of the block that runs, and who touched each of its bytes since which barrier.
//
// Two accesses of different threads to one byte, of which one writes, are a race unless a barrier of the
// block stands between them, or one of the warp where both are lanes of it. A shuffle orders no memory.
// Atomic accesses race with plain ones alone.
#pragma once

#include <cstddef>
#include <cstdint>

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

// Bytes that a copy of a tile fills (barrier.h), and which products of whole warps read: nobody reads them
// who has not waited for phase `phase` of the barrier. Begun by the thread that runs; ended between threads.
// Returns the fill's number.
int begin_tile(const void* data, size_t size_bytes, const void* barrier, uint32_t phase);
void end_tile(int fill);
// A read by a product of the running thread's warp.
void check_tile_read(const void* data, size_t size_bytes);
// Where shared memory is as instructions count it, and back.
uint32_t shared_offset(const void* data);
const char* shared_at(uint32_t offset);

}  // namespace tw::cuda::emulator
