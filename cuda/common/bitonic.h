// Sorting in memory by exchanges whose places depend on the count alone (Batcher, 1968): 2^k items in
// k (k + 1) / 2 passes, each of which reads and writes all of them. Not stable: an order that tells any two
// items apart is wanted of operator<.
#pragma once

#include <cstdint>

#include "cuda/common/launch.h"

namespace tw::cuda {

// The lower place of number `pair` of the pairs `gap` apart that a pass exchanges.
template <class Index>
TW_DEVICE Index low_of_pair(Index pair, Index gap) {
  return 2 * pair - (pair & (gap - 1));
}

// The threads of a block sort `count` items, in rows of `row` of them, a power of two: exchange(low, high,
// rises) puts two places in order. A barrier ends it.
template <int kThreads, class Index, class Exchange>
TW_DEVICE void bitonic_passes(Index count, Index row, const Exchange& exchange) {
  for (Index size = 2; size <= row; size *= 2)
    for (Index gap = size / 2; gap > 0; gap /= 2) {
      for (auto pair = static_cast<Index>(threadIdx.x); pair < count / 2; pair += kThreads) {
        Index low = low_of_pair(pair, gap);
        exchange(low, low + gap, size == row || (low & size) == 0);
      }
      __syncthreads();
    }
}

template <class Item>
TW_DEVICE void exchange_items(Item* items, int64_t low, int64_t high, bool rises) {
  Item a = items[low], b = items[high];
  if ((b < a) != rises) return;
  items[low] = b;
  items[high] = a;
}

template <int kThreads, class Item>
TW_DEVICE void bitonic_sort_block(Item* items, int64_t count) {
  bitonic_passes<kThreads>(
      count, count, [=](int64_t low, int64_t high, bool rises) { exchange_items(items, low, high, rises); });
}

inline constexpr int kPassThreads = block_threads(256);

template <class Item>
__global__ void __launch_bounds__(kPassThreads)
    bitonic_pass_kernel(Item* items, int64_t pairs, int64_t size, int64_t gap) {
  int64_t pair = static_cast<int64_t>(blockIdx.x) * kPassThreads + threadIdx.x;
  if (pair >= pairs) return;
  int64_t low = low_of_pair(pair, gap);
  exchange_items(items, low, low + gap, (low & size) == 0);  // runs of `size` rise and fall in turn
}

// The same by the whole device, a launch a pass.
template <class Item>
void bitonic_sort(const char* op, Item* items, int64_t count) {
  int64_t pairs = count / 2;
  auto blocks = static_cast<unsigned>((pairs + kPassThreads - 1) / kPassThreads);
  for (int64_t size = 2; size <= count; size *= 2)
    for (int64_t gap = size / 2; gap > 0; gap /= 2)
      launch(op, bitonic_pass_kernel<Item>, {blocks, kPassThreads}, items, pairs, size, gap);
}

}  // namespace tw::cuda
