// Runs a kernel's blocks one after the other, the threads of a block as fibers, and refuses what a GPU leaves
// undefined.
//
// A thread runs until it waits at a barrier, a warp barrier or a shuffle, or returns. When all have stopped,
// whoever waits for the same thing goes on. It is an error when nobody can: when threads wait at different
// barriers, when some have returned before a barrier that others wait at, when lanes of a warp wait for each
// other in different places.
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string>

namespace tw::cuda::emulator {

struct Index {
  unsigned x, y, z;
};

struct Shape {
  unsigned blocks, threads, shared_bytes;
};

// Of the thread that runs now. `running` is false outside of kernels.
struct Now {
  Index thread, block, block_size, grid_size;
  int device = 0;
  bool running = false;
};
extern Now g_now;

inline constexpr int kWarp = 32;
inline constexpr size_t kSharedBytes = 227 * 1024;  // the most that a block may have
inline constexpr size_t kStaticSharedBytes = 48 * 1024;

using Entry = void (*)(const void* arguments);

// Runs the kernel; the first fault ends it, and is what take_fault() returns once.
void run(Shape shape, Entry entry, const void* arguments, size_t argument_bytes);
std::string take_fault();
// The most threads that a block has had since the last call: tells which kernel has run.
unsigned take_largest_block();
// Called by the thread that runs, which is never resumed.
[[noreturn]] void fail(const std::string& what);
[[noreturn]] void fail(const char* what);

enum class Wait : uint8_t { kBlock, kWarp, kExchange, kUntil };
// Waits with all threads of the block, or all lanes of the warp, that reach this place.
void wait(Wait kind, std::source_location where);
// Waits until met(subject), whatever other threads do.
void wait_until(bool (*met)(const void*), const void* subject, std::source_location where);

// Warp exchange: every lane gives 8 bytes and sees those of all 32.
const uint64_t* exchange(uint64_t value, unsigned mask, std::source_location where);

// Shared memory. A static array is told by the address of a variable that stands for it.
void* shared_array(const void* key, size_t size_bytes, size_t alignment);
void* dynamic_shared_array();

// What the barriers so far say of the order of accesses: see shared.h.
struct Order {
  int thread;
  uint32_t block_epoch, warp_epoch;
};
Order order_now();
// Whether memory that is neither the device's nor shared may be touched by the thread that runs.
bool is_own_memory(const void* data);

}  // namespace tw::cuda::emulator
