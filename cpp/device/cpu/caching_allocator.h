// Host memory for tensors: 64-byte aligned blocks, kept for reuse when they are freed.
//
// Sizes are rounded up to classes: multiples of 64 bytes to 512, then four for every power of two, eight from
// 2^20 on.
//   small (up to 64 KiB): free lists of the calling thread, no locks and no atomic read-modify-writes; lists
//   that run
//     empty or full exchange batches with central lists under a lock. Cut from slabs that stay with the
//     process.
//   large: mapped from the system one by one (in huge pages from 2 MiB), cached under a lock up to a cap; a
//     block that is a little too large serves before the process grows (see allocate_for_long).
// A block may be freed on any thread. Sizes beyond the memory of the machine are refused before they are
// mapped.
//
// One CPU may be cut into several devices: each has an allocator of its own, with its own blocks and
// statistics; the limit of the memory and the cap of what is cached hold for all of them together.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/backend.h"

namespace tw::device {

class CachingAllocator {
 public:
  static constexpr int kMaxDevices = 256;

  static CachingAllocator& get() { return of(0); }
  static CachingAllocator& of(int device);  // throws kDevice from kMaxDevices on

  // Throws kOutOfMemory naming the size. Size 0 gives a block as well.
  void* allocate(size_t size_bytes);
  // `size_bytes` is what was asked for.
  void free(void* data, size_t size_bytes);

  // The peak misses at most 64 KiB a thread, since threads report small blocks in batches.
  MemoryStats stats();
  void reset_peak();
  // Gives cached large blocks back to the system.
  void empty_cache();

  struct Central;  // shared state, behind the locks

 private:
  explicit CachingAllocator(int device);
  Central* central_;  // never destroyed: tensors may outlive every static object
};

// Whether this thread allocates for long: then its large blocks are of the class that was asked for, since
// what stays, such as an optimizer's state or a program's arena, would keep the rest of a larger one from all
// others. Returns what was set before.
bool allocate_for_long(bool on);

// Sets it while it lives.
class AllocatingForLong {
 public:
  AllocatingForLong() : before_(allocate_for_long(true)) {}
  ~AllocatingForLong() { allocate_for_long(before_); }
  AllocatingForLong(const AllocatingForLong&) = delete;
  AllocatingForLong& operator=(const AllocatingForLong&) = delete;

 private:
  bool before_;
};

}  // namespace tw::device
