#include "cuda/device/caching_allocator.h"

#include <vector>

#include "base/error.h"
#include "test.h"
#include "tests/cuda/emulator/memory.h"

namespace tw::cuda {

TEST(freed_blocks_serve_their_stream_again) {
  CachingAllocator allocator(0);
  CudaStream other(0, 0);
  void* first = allocator.allocate(1000, nullptr);
  allocator.free(first);
  CHECK(allocator.allocate(900, other.handle()) != first);
  CHECK_EQ(allocator.allocate(900, nullptr), first);
  allocator.empty_cache();
}

TEST(neighbours_are_joined) {
  CachingAllocator allocator(0);
  std::vector<void*> blocks;
  for (int i = 0; i < 4; i++) blocks.push_back(allocator.allocate(512 << 10, nullptr));
  int64_t reserved = allocator.stats().reserved_bytes;
  CHECK_EQ(reserved, 2 << 20);
  for (int i : {1, 3, 2, 0}) allocator.free(blocks[i]);
  CHECK_EQ(allocator.stats().allocated_bytes, 0);
  // One block of a segment again, which can be given back.
  CHECK_EQ(allocator.allocate(1 << 20, nullptr), blocks[0]);
  allocator.free(blocks[0]);
  allocator.empty_cache();
  CHECK_EQ(allocator.stats().reserved_bytes, 0);
}

TEST(peaks_and_counts_are_kept) {
  CachingAllocator allocator(0);
  void* data = allocator.allocate(0, nullptr);
  CHECK_EQ(allocator.stats().allocated_bytes, 512);
  allocator.free(data);
  CHECK_EQ(allocator.stats().peak_allocated_bytes, 512);
  CHECK_EQ(allocator.stats().allocation_count, 1);
  allocator.reset_peak();
  CHECK_EQ(allocator.stats().peak_allocated_bytes, 0);
  CHECK_THROWS(Error, allocator.free(data), "memory is freed that was not allocated here");
  allocator.empty_cache();
}

TEST(a_full_device_gives_up_its_cache_first) {
  CachingAllocator allocator(0);
  size_t before = emulator::capacity();
  emulator::set_capacity(emulator::used_bytes(0) + (100 << 20));
  void* large = allocator.allocate(60 << 20, nullptr);
  CHECK_THROWS(Error, allocator.allocate(80 << 20, nullptr), "cuda:0: 80.0 MiB were asked for");
  allocator.free(large);
  large = allocator.allocate(80 << 20, nullptr);
  CHECK_THROWS(Error, allocator.allocate(80 << 20, nullptr), "in 1 blocks, the largest 1 x 80.0 MiB");
  allocator.free(large);
  allocator.empty_cache();
  emulator::set_capacity(before);
}

TEST(blocks_that_other_streams_use_wait_for_them) {
  CachingAllocator allocator(0);
  Ref<CudaStream> other = make_ref<CudaStream>(0, 0);
  void* data = allocator.allocate(4096, nullptr);
  allocator.record_use(data, *other);
  allocator.record_use(data, *other);
  allocator.free(data);
  CHECK_EQ(allocator.allocate(4096, nullptr), data);  // its event has been reached
  CHECK_THROWS(Error, allocator.record_use(&allocator, *other), "none of cuda:0's allocator");
  allocator.free(data);
  allocator.empty_cache();
}

}  // namespace tw::cuda
