// Sorting in memory by exchanges whose places depend on the count alone (Batcher, 1968): 2^k items in
// k (k + 1) / 2 passes, each of which reads and writes all of them. Not stable: an order that tells any two
// items apart is wanted of operator<.
#pragma once

#include <cstdint>

#include "cuda/common/launch.h"

namespace tw::cuda {

// Number `pair` of the pairs `gap` apart that a pass exchanges, within runs of `size` items that it makes
// ordered: rising and falling in turn.
template <class Item>
TW_DEVICE void exchange_pair(Item* items, int64_t pair, int64_t size, int64_t gap) {
  int64_t low = 2 * pair - (pair & (gap - 1)), high = low + gap;
  bool rises = (low & size) == 0;
  Item a = items[low], b = items[high];
  if ((b < a) != rises) return;
  items[low] = b;
  items[high] = a;
}

// The threads of a block sort `count` items, a power of two; a barrier ends it.
template <int kThreads, class Item>
TW_DEVICE void bitonic_sort_block(Item* items, int64_t count) {
  for (int64_t size = 2; size <= count; size *= 2)
    for (int64_t gap = size / 2; gap > 0; gap /= 2) {
      for (int64_t pair = threadIdx.x; pair < count / 2; pair += kThreads)
        exchange_pair(items, pair, size, gap);
      __syncthreads();
    }
}

inline constexpr int kSortThreads = block_threads(256);

template <class Item>
__global__ void __launch_bounds__(kSortThreads)
    bitonic_pass_kernel(Item* items, int64_t pairs, int64_t size, int64_t gap) {
  int64_t pair = static_cast<int64_t>(blockIdx.x) * kSortThreads + threadIdx.x;
  if (pair < pairs) exchange_pair(items, pair, size, gap);
}

// The same by the whole device, a launch a pass.
template <class Item>
void bitonic_sort(const char* op, Item* items, int64_t count) {
  int64_t pairs = count / 2;
  auto blocks = static_cast<unsigned>((pairs + kSortThreads - 1) / kSortThreads);
  for (int64_t size = 2; size <= count; size *= 2)
    for (int64_t gap = size / 2; gap > 0; gap /= 2)
      launch(op, bitonic_pass_kernel<Item>, {blocks, kSortThreads}, items, pairs, size, gap);
}

}  // namespace tw::cuda
