// The kernels behind SortedRows (common/sorted_rows.h).
//
// Rows of up to kBlockRow keys: a block sorts one of them, or several short ones, in shared memory, by a
// bitonic network over (key, place), whose order is total, so that equal keys keep theirs. Bytes: keys read
// and written once, places written. Floor: these over the bandwidth; log2(n)^2 / 2 steps between barriers.
//
// Longer rows: by digits of kDigitBits bits, lowest first, each row for itself. A pass counts the digits of
// every tile, scans the counts of a row in the order of (digit, tile), and moves each key to its place: rank
// within the warp by ballots, among the warps of a tile by a sum, among tiles by the scan. Bytes of a pass:
// the keys twice, then keys and places read and written once; passes: bits / kDigitBits.
#pragma once

#include <algorithm>

#include "cuda/common/bitonic.h"
#include "cuda/common/group_scan.h"
#include "cuda/common/launch.h"
#include "cuda/common/row_values.h"

namespace tw::cuda {

inline constexpr int kSortThreads = block_threads(256);
inline constexpr int kSortWarps = kSortThreads / kLanes;
inline constexpr int kBlockRow = 2048;
inline constexpr int kDigitBits = 8;
inline constexpr int kDigits = 1 << kDigitBits;
inline constexpr int kTileSteps = 8;  // keys of a thread
inline constexpr int kTile = kSortThreads * kTileSteps;

// Rows are padded to `padded` keys, a power of two; a block has `in_block` of them.
template <class K>
__global__ void __launch_bounds__(kSortThreads)
    sort_blocks_kernel(K* keys, uint32_t* places, int64_t rows, int length, int padded, int in_block) {
  K* key = dynamic_shared<K>();
  auto* place = reinterpret_cast<uint32_t*>(key + padded * in_block);
  int count = padded * in_block;
  int64_t first = static_cast<int64_t>(blockIdx.x) * in_block;
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kSortThreads) {
    int64_t row = first + i / padded;
    int at = i % padded;
    // What pads a row comes after all of it, by its place.
    key[i] = row < rows && at < length ? keys[row * length + at] : static_cast<K>(~K(0));
    place[i] = static_cast<uint32_t>(at);
  }
  __syncthreads();
  bitonic_passes<kSortThreads>(count, padded, [=](int a, int b, bool rises) {
    K key_a = key[a], key_b = key[b];
    uint32_t place_a = place[a], place_b = place[b];
    bool later = key_a > key_b || (key_a == key_b && place_a > place_b);
    if (later != rises) return;
    key[a] = key_b;
    key[b] = key_a;
    place[a] = place_b;
    place[b] = place_a;
  });
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kSortThreads) {
    int64_t row = first + i / padded;
    int at = i % padded;
    if (row >= rows || at >= length) continue;
    keys[row * length + at] = key[i];
    places[row * length + at] = place[i];
  }
}

// A pass over one digit. `counts`: [row][digit][tile].
template <class K>
struct DigitPass {
  const K* keys;
  const uint32_t* places;  // null in the first pass: each key stands at its own
  K* keys_out;
  uint32_t* places_out;
  uint32_t* counts;
  int64_t length;
  int tiles, shift;

  TW_DEVICE int64_t row() const { return blockIdx.x / static_cast<unsigned>(tiles); }
  TW_DEVICE int tile() const { return static_cast<int>(blockIdx.x % static_cast<unsigned>(tiles)); }
  TW_DEVICE int digit_of(K key) const { return static_cast<int>(key >> shift) & (kDigits - 1); }
  TW_DEVICE uint32_t& count_of(int digit) const { return counts[(row() * kDigits + digit) * tiles + tile()]; }
};

template <class K>
__global__ void __launch_bounds__(kSortThreads) count_digits_kernel(DigitPass<K> pass) {
  TW_SHARED(uint32_t, counts, kDigits);
  for (int d = static_cast<int>(threadIdx.x); d < kDigits; d += kSortThreads) counts[d] = 0;
  __syncthreads();
  int64_t first = static_cast<int64_t>(pass.tile()) * kTile;
  const K* keys = pass.keys + pass.row() * pass.length;
  for (int step = 0; step < kTileSteps; step++) {
    int64_t i = first + step * kSortThreads + threadIdx.x;
    if (i < pass.length) atomicAdd(&counts[pass.digit_of(keys[i])], 1u);
  }
  __syncthreads();
  for (int d = static_cast<int>(threadIdx.x); d < kDigits; d += kSortThreads) pass.count_of(d) = counts[d];
}

// A block a row: counts become the sums of those before them.
template <class Count>
__global__ void __launch_bounds__(kSortThreads) scan_counts_kernel(Count* counts, int64_t of_row) {
  Count* row = counts + blockIdx.x * of_row;
  Count before = 0;
  for (int64_t base = 0; base < of_row; base += kSortThreads) {
    int64_t i = base + threadIdx.x;
    Count count = i < of_row ? row[i] : Count(0);
    auto scanned = group_scan<kSortThreads>(count, Count(0), Plus());
    if (i < of_row) row[i] = before + scanned.before;
    before += scanned.all;
  }
}

// The lanes whose digit is this lane's, among those that are there.
TW_DEVICE unsigned lanes_alike(int digit, bool there) {
  unsigned alike = __ballot_sync(kFullMask, there);
  TW_UNROLL
  for (int bit = 0; bit < kDigitBits; bit++) {
    bool set = digit >> bit & 1;
    unsigned with = __ballot_sync(kFullMask, set);
    alike &= set ? with : ~with;
  }
  return alike;
}

template <class K>
__global__ void __launch_bounds__(kSortThreads) move_keys_kernel(DigitPass<K> pass) {
  // A warp has kTileSteps * kLanes keys side by side.
  TW_SHARED(uint32_t, counts, kSortWarps* kDigits);
  for (int d = static_cast<int>(threadIdx.x); d < kSortWarps * kDigits; d += kSortThreads) counts[d] = 0;
  __syncthreads();
  uint32_t* own = counts + warp_index() * kDigits;
  int64_t row = pass.row() * pass.length;
  int64_t first = static_cast<int64_t>(pass.tile()) * kTile + warp_index() * (kTileSteps * kLanes);
  K keys[kTileSteps];
  uint32_t ranks[kTileSteps];
  TW_UNROLL
  for (int step = 0; step < kTileSteps; step++) {
    int64_t i = first + step * kLanes + lane_index();
    bool there = i < pass.length;
    keys[step] = there ? pass.keys[row + i] : K(0);
    int digit = pass.digit_of(keys[step]);
    unsigned alike = lanes_alike(digit, there);
    uint32_t before = own[digit];
    ranks[step] = before + static_cast<uint32_t>(__popc(alike & ((1u << lane_index()) - 1)));
    __syncwarp();
    if (alike >> lane_index() == 1u) own[digit] = before + static_cast<uint32_t>(__popc(alike));
    __syncwarp();
  }
  __syncthreads();
  for (int d = static_cast<int>(threadIdx.x); d < kDigits; d += kSortThreads) {
    uint32_t before = pass.count_of(d);
    for (int warp = 0; warp < kSortWarps; warp++) {
      uint32_t count = counts[warp * kDigits + d];
      counts[warp * kDigits + d] = before;
      before += count;
    }
  }
  __syncthreads();
  TW_UNROLL
  for (int step = 0; step < kTileSteps; step++) {
    int64_t i = first + step * kLanes + lane_index();
    if (i >= pass.length) continue;
    int64_t to = row + own[pass.digit_of(keys[step])] + ranks[step];
    pass.keys_out[to] = keys[step];
    pass.places_out[to] = pass.places ? pass.places[row + i] : static_cast<uint32_t>(i);
  }
}

}  // namespace tw::cuda
