#include "cuda/device/caching_allocator.h"

#include <algorithm>

#include "base/error.h"

namespace tw::cuda {

namespace {

constexpr size_t kRounding = 512;
constexpr size_t kSmall = 1 << 20;
constexpr size_t kSmallSegment = 2 << 20;
constexpr size_t kMedium = 10 << 20;
constexpr size_t kMediumSegment = 20 << 20;
constexpr size_t kLargeRounding = 2 << 20;

size_t round_up(size_t size, size_t to) { return (size + to - 1) / to * to; }

size_t segment_size(size_t size_bytes) {
  if (size_bytes <= kSmall) return kSmallSegment;
  return size_bytes < kMedium ? kMediumSegment : round_up(size_bytes, kLargeRounding);
}

std::string mib(size_t size_bytes) {
  size_t tenths = size_bytes * 10 / (1 << 20);
  return cat(tenths / 10, ".", tenths % 10, " MiB");
}

}  // namespace

void* CachingAllocator::allocate(size_t size_bytes, cudaStream_t stream) {
  size_t wanted = round_up(std::max<size_t>(size_bytes, 1), kRounding);
  TW_CHECK(wanted >= size_bytes, kOutOfMemory, "cuda:", device_, ": ", size_bytes,
           " bytes are more than memory can be");
  bool small = wanted <= kSmall;
  std::lock_guard lock(mutex_);
  collect(false);
  Block* block = take_free(wanted, small, stream);
  if (!block) block = new_segment(wanted, small, stream);
  if (!block) {
    collect(true);
    block = take_free(wanted, small, stream);
  }
  if (!block) {
    release_free_segments();
    block = new_segment(wanted, small, stream);
  }
  if (!block) fail(size_bytes);
  split(block, wanted);
  block->used = true;
  used_[block->data] = block;
  stats_.allocated_bytes += static_cast<int64_t>(block->size_bytes);
  stats_.peak_allocated_bytes = std::max(stats_.peak_allocated_bytes, stats_.allocated_bytes);
  stats_.allocation_count++;
  mark_allocated(block->data, size_bytes);
  return block->data;
}

CachingAllocator::Block* CachingAllocator::take_free(size_t size_bytes, bool small, cudaStream_t stream) {
  Block key{nullptr, size_bytes, stream, small};
  auto found = free_.lower_bound(&key);
  if (found == free_.end() || (*found)->small != small || (*found)->stream != stream) return nullptr;
  Block* block = *found;
  free_.erase(found);
  return block;
}

CachingAllocator::Block* CachingAllocator::new_segment(size_t size_bytes, bool small, cudaStream_t stream) {
  OnDevice on(device_);
  size_t segment = segment_size(size_bytes);
  void* data = nullptr;
  cudaError_t error = cudaMalloc(&data, segment);
  if (error == cudaErrorMemoryAllocation) {
    cudaGetLastError();  // it is told here, not by the next call
    return nullptr;
  }
  check(error, "cudaMalloc");
  mark_free(data, segment);
  stats_.reserved_bytes += static_cast<int64_t>(segment);
  return new Block{static_cast<char*>(data), segment, stream, small};
}

// Leaves `size_bytes` of the block and frees the rest, if that can serve somebody.
void CachingAllocator::split(Block* block, size_t size_bytes) {
  size_t rest = block->size_bytes - size_bytes;
  if (rest < (block->small ? kRounding : kSmall + 1)) return;
  auto* second = new Block{block->data + size_bytes, rest, block->stream, block->small};
  second->before = block;
  second->after = block->after;
  if (second->after) second->after->before = second;
  block->after = second;
  block->size_bytes = size_bytes;
  free_.insert(second);
}

void CachingAllocator::free(void* data) {
  std::lock_guard lock(mutex_);
  auto found = used_.find(data);
  TW_CHECK(found != used_.end(), kInternal, "cuda:", device_,
           ": memory is freed that was not allocated here");
  Block* block = found->second;
  used_.erase(found);
  mark_free(data, block->size_bytes);
  stats_.allocated_bytes -= static_cast<int64_t>(block->size_bytes);
  if (block->other_streams.empty()) return make_free(block);
  Waiting waiting{block, {}};
  for (const Ref<CudaStream>& stream : block->other_streams) {
    waiting.events.push_back(make_ref<CudaEvent>(device_));
    waiting.events.back()->record(*stream);
  }
  block->other_streams.clear();
  waiting_.push_back(std::move(waiting));
}

void CachingAllocator::make_free(Block* block) {
  block->used = false;
  if (Block* after = block->after; after && free_.erase(after)) absorb(block, after);
  if (Block* before = block->before; before && free_.erase(before)) {
    absorb(before, block);
    block = before;
  }
  free_.insert(block);
}

void CachingAllocator::absorb(Block* block, Block* other) {
  block->size_bytes += other->size_bytes;
  block->after = other->after;
  if (block->after) block->after->before = block;
  delete other;
}

void CachingAllocator::record_use(void* data, CudaStream& stream) {
  std::lock_guard lock(mutex_);
  auto found = used_.find(data);
  TW_CHECK(found != used_.end(), kValue, "record_stream: the tensor's memory is none of cuda:", device_,
           "'s allocator");
  Block& block = *found->second;
  if (block.stream == stream.handle()) return;
  for (const Ref<CudaStream>& known : block.other_streams)
    if (known->handle() == stream.handle()) return;
  block.other_streams.push_back(Ref<CudaStream>(&stream));
}

// Frees the blocks that other streams have done with.
void CachingAllocator::collect(bool wait) {
  for (size_t i = 0; i < waiting_.size();) {
    Waiting& waiting = waiting_[i];
    bool done = true;
    for (const Ref<CudaEvent>& event : waiting.events) {
      if (wait) event->wait();
      done = done && event->done();
    }
    if (!done) {
      i++;
      continue;
    }
    Block* block = waiting.block;
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
    make_free(block);
  }
}

void CachingAllocator::release_free_segments() {
  OnDevice on(device_);
  for (auto it = free_.begin(); it != free_.end();) {
    Block* block = *it;
    if (block->before || block->after || held_.contains(block->stream)) {
      ++it;
      continue;
    }
    it = free_.erase(it);
    check(cudaFree(block->data), "cudaFree");  // waits for what is queued
    stats_.reserved_bytes -= static_cast<int64_t>(block->size_bytes);
    delete block;
  }
}

void CachingAllocator::fail(size_t size_bytes) {
  OnDevice on(device_);
  size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  std::map<size_t, int, std::greater<>> sizes;
  for (const auto& [data, block] : used_) sizes[block->size_bytes]++;
  std::string holders;
  int listed = 0;
  for (auto [size, count] : sizes) {
    if (listed++ == 5) break;
    holders += cat(listed > 1 ? ", " : "", count, " x ", mib(size));
  }
  TW_FAIL(kOutOfMemory, "cuda:", device_, ": ", mib(size_bytes), " were asked for; of ", mib(total),
          " the device has ", mib(free), " free. Tensors of this process hold ", mib(stats_.allocated_bytes),
          " in ", used_.size(), " blocks, the largest ", holders.empty() ? std::string("none") : holders,
          "; ", mib(stats_.reserved_bytes - stats_.allocated_bytes), " are kept for reuse in pieces");
}

void CachingAllocator::hold(cudaStream_t stream) {
  std::lock_guard lock(mutex_);
  held_.insert(stream);
}

void CachingAllocator::release(cudaStream_t stream) {
  std::lock_guard lock(mutex_);
  held_.erase(stream);
}

device::MemoryStats CachingAllocator::stats() {
  std::lock_guard lock(mutex_);
  return stats_;
}

void CachingAllocator::reset_peak() {
  std::lock_guard lock(mutex_);
  stats_.peak_allocated_bytes = stats_.allocated_bytes;
}

void CachingAllocator::empty_cache() {
  std::lock_guard lock(mutex_);
  collect(true);
  release_free_segments();
}

}  // namespace tw::cuda
