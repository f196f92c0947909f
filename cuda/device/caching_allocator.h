// Device memory in the order of streams: a freed block serves the next request of its stream at once, since
// what is queued there runs after what used it before.
//
// Sizes are rounded up to multiples of 512 bytes. Requests up to 1 MiB are cut from segments of 2 MiB, larger
// ones up to 10 MiB from segments of 20 MiB, others get a segment of their own, rounded up to 2 MiB. A
// request takes the smallest free block of its stream that is large enough; the rest of it, where it is worth
// keeping, stays free, and free neighbours are joined. When the device is full, events are waited for, free
// segments are given back, and the request is tried once more.
//
// A block that other streams use (record_use) is free for its own when they have got there: events tell.
#pragma once

#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "cuda/device/streams.h"

namespace tw::cuda {

class CachingAllocator {
 public:
  explicit CachingAllocator(int device) : device_(device) {}

  // Throws kOutOfMemory, which says what holds the memory.
  void* allocate(size_t size_bytes, cudaStream_t stream);
  void free(void* data);
  void record_use(void* data, CudaStream& stream);
  device::MemoryStats stats();
  void reset_peak();
  void empty_cache();
  // Memory of the stream is not given back to the device, free or not, until it is released.
  void hold(cudaStream_t stream);
  void release(cudaStream_t stream);

 private:
  struct Block {
    char* data;
    size_t size_bytes;
    cudaStream_t stream;
    bool small;
    bool used = false;
    Block *before = nullptr, *after = nullptr;  // neighbours in the segment
    std::vector<Ref<CudaStream>> other_streams = {};
  };
  struct Smaller {
    bool operator()(const Block* a, const Block* b) const {
      if (a->small != b->small) return a->small < b->small;
      if (a->stream != b->stream) return a->stream < b->stream;
      return a->size_bytes != b->size_bytes ? a->size_bytes < b->size_bytes : a->data < b->data;
    }
  };
  struct Waiting {
    Block* block;
    std::vector<Ref<CudaEvent>> events;
  };

  Block* take_free(size_t size_bytes, bool small, cudaStream_t stream);
  Block* new_segment(size_t size_bytes, bool small, cudaStream_t stream);
  void split(Block* block, size_t size_bytes);
  void make_free(Block* block);
  void absorb(Block* block, Block* other);
  void collect(bool wait);
  void release_free_segments();
  [[noreturn]] void fail(size_t size_bytes);

  int device_;
  std::mutex mutex_;
  std::unordered_map<void*, Block*> used_;
  std::set<Block*, Smaller> free_;
  std::deque<Waiting> waiting_;
  std::set<cudaStream_t> held_;
  device::MemoryStats stats_;
};

}  // namespace tw::cuda
