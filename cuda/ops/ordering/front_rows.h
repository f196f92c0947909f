// The first keys of long rows, in order, without sorting the rows.
//
//   1. The last key that is wanted is found digit by digit, the highest first: count_prefixed_kernel counts
//      the next digits of the keys that begin like it, choose_digit_kernel says which digit it has.
//   2. count_front_kernel counts in each tile the keys before it and those equal to it; the counts are
//      scanned; write_front_kernel writes the keys before it and as many equal ones as are wanted, in the
//      order of their places.
//   3. What was written, which a block's shared memory holds, is sorted.
//
// Bytes: the keys once a digit and twice more, what is wanted a few times. Floor: these over the bandwidth. A
// sort of the whole rows moves keys and places through memory five times a digit.
#pragma once

#include "cuda/common/sorted_rows.h"
#include "cuda/ops/ordering/sorted_rows_kernels.h"

namespace tw::cuda {

// Rows of keys, cut into tiles, and what is known of each row's last key that is wanted.
template <class K>
struct Front {
  const K* keys;
  int64_t length, wanted;
  int tiles;
  K* last;           // its digits so far, the others 0
  uint32_t* rank;    // its rank among the keys that begin so, from 1
  uint32_t* counts;  // [row][digit]

  TW_DEVICE int64_t row() const { return blockIdx.x / static_cast<unsigned>(tiles); }
  TW_DEVICE int tile() const { return static_cast<int>(blockIdx.x % static_cast<unsigned>(tiles)); }
};

template <class K>
__global__ void __launch_bounds__(kSortThreads) begin_front_kernel(Front<K> front, int64_t rows) {
  int64_t i = static_cast<int64_t>(blockIdx.x) * kSortThreads + threadIdx.x;
  if (i >= rows * kDigits) return;
  front.counts[i] = 0;
  if (i >= rows) return;
  front.last[i] = 0;
  front.rank[i] = static_cast<uint32_t>(front.wanted);
}

// `known`: the bits of the keys above the digit, of which the last key's are known.
template <class K>
__global__ void __launch_bounds__(kSortThreads) count_prefixed_kernel(Front<K> front, int shift, K known) {
  TW_SHARED(uint32_t, counts, kDigits);
  for (int d = static_cast<int>(threadIdx.x); d < kDigits; d += kSortThreads) counts[d] = 0;
  __syncthreads();
  const K* keys = front.keys + front.row() * front.length;
  K last = front.last[front.row()];
  int64_t first = static_cast<int64_t>(front.tile()) * kTile;
  for (int step = 0; step < kTileSteps; step++) {
    int64_t i = first + step * kSortThreads + threadIdx.x;
    if (i >= front.length) break;
    K key = keys[i];
    if (((key ^ last) & known) == 0) atomicAdd(&counts[static_cast<int>(key >> shift) & (kDigits - 1)], 1u);
  }
  __syncthreads();
  for (int d = static_cast<int>(threadIdx.x); d < kDigits; d += kSortThreads)
    if (counts[d]) atomicAdd(&front.counts[front.row() * kDigits + d], counts[d]);
}

// A block a row. The counts are 0 again afterwards.
template <class K>
__global__ void __launch_bounds__(kSortThreads) choose_digit_kernel(Front<K> front, int shift) {
  int64_t row = blockIdx.x;
  uint32_t rank = front.rank[row], before = 0;
  for (int base = 0; base < kDigits; base += kSortThreads) {
    int digit = base + static_cast<int>(threadIdx.x);
    uint32_t& own = front.counts[row * kDigits + digit];
    uint32_t count = own;
    auto scanned = group_scan<kSortThreads>(count, 0u, Plus());
    uint32_t below = before + scanned.before;
    if (below < rank && rank <= below + count) {
      front.last[row] |= static_cast<K>(digit) << shift;
      front.rank[row] = rank - below;
    }
    own = 0;
    before += scanned.all;
  }
}

// A thread's keys, kTileSteps side by side: how many come before the row's last, and how many equal it.
template <class K>
struct FrontCounts {
  uint32_t before = 0, equal = 0;
  int64_t first, end;
  TW_DEVICE explicit FrontCounts(const Front<K>& front) {
    const K* keys = front.keys + front.row() * front.length;
    K last = front.last[front.row()];
    first = static_cast<int64_t>(front.tile()) * kTile + static_cast<int64_t>(threadIdx.x) * kTileSteps;
    end = first + kTileSteps < front.length ? first + kTileSteps : front.length;
    for (int64_t i = first; i < end; i++) {
      before += keys[i] < last;
      equal += keys[i] == last;
    }
  }
};

// of_tiles: [row][before, equal][tile].
template <class K>
__global__ void __launch_bounds__(kSortThreads) count_front_kernel(Front<K> front, uint32_t* of_tiles) {
  FrontCounts<K> own(front);
  uint32_t before = block_reduce<kSortThreads>(own.before, 0u, Plus());
  uint32_t equal = block_reduce<kSortThreads>(own.equal, 0u, Plus());
  uint32_t* of_row = of_tiles + front.row() * 2 * front.tiles;
  if (threadIdx.x != 0) return;
  of_row[front.tile()] = before;
  of_row[front.tiles + front.tile()] = equal;
}

// The counts are those of all tiles before by now; equal keys come after all that are before them.
template <class K>
__global__ void __launch_bounds__(kSortThreads)
    write_front_kernel(Front<K> front, const uint32_t* of_tiles, K* keys_out, uint32_t* places_out) {
  FrontCounts<K> own(front);
  auto before = group_scan<kSortThreads>(own.before, 0u, Plus());
  auto equal = group_scan<kSortThreads>(own.equal, 0u, Plus());
  const uint32_t* of_row = of_tiles + front.row() * 2 * front.tiles;
  int64_t to_before = of_row[front.tile()] + before.before;
  int64_t to_equal = of_row[front.tiles + front.tile()] + equal.before;
  const K* keys = front.keys + front.row() * front.length;
  K last = front.last[front.row()];
  int64_t out = front.row() * front.wanted;
  for (int64_t i = own.first; i < own.end; i++) {
    K key = keys[i];
    if (key > last) continue;
    int64_t to = key < last ? to_before++ : to_equal++;
    if (to >= front.wanted) continue;
    keys_out[out + to] = key;
    places_out[out + to] = static_cast<uint32_t>(i);
  }
}

// The first keys of each row and their places.
template <class K>
class FrontRows {
 public:
  // Of rows of more than kBlockRow keys, of which `wanted` fit a block. Keys have `bits` bits.
  FrontRows(const SortedRows<K>& all, int64_t wanted, int bits, const char* op)
      : sorted_(all.rows(), wanted, op),
        places_(static_cast<size_t>(all.rows() * wanted) * sizeof(uint32_t)) {
    int64_t rows = all.rows();
    auto tiles = static_cast<int>((all.length() + kTile - 1) / kTile);
    auto row_count = static_cast<size_t>(rows);
    DeviceScratch last(row_count * sizeof(K)), rank(row_count * sizeof(uint32_t)),
        counts(row_count * kDigits * sizeof(uint32_t)),
        of_tiles(row_count * 2 * static_cast<size_t>(tiles) * sizeof(uint32_t));
    Front<K> front{all.keys(),          all.length(),         wanted, tiles, last.as<K>(),
                   rank.as<uint32_t>(), counts.as<uint32_t>()};
    Grid by_tiles{static_cast<unsigned>(rows * tiles), kSortThreads},
        by_rows{static_cast<unsigned>(rows), kSortThreads};
    auto cells = static_cast<unsigned>((rows * kDigits + kSortThreads - 1) / kSortThreads);
    launch(op, begin_front_kernel<K>, {cells, kSortThreads}, front, rows);
    K known = 0;
    for (int shift = (bits - 1) / kDigitBits * kDigitBits; shift >= 0; shift -= kDigitBits) {
      launch(op, count_prefixed_kernel<K>, by_tiles, front, shift, known);
      launch(op, choose_digit_kernel<K>, by_rows, front, shift);
      known |= static_cast<K>(K(kDigits - 1) << shift);
    }
    launch(op, count_front_kernel<K>, by_tiles, front, of_tiles.as<uint32_t>());
    launch(op, scan_counts_kernel<uint32_t>, by_rows, of_tiles.as<uint32_t>(), int64_t{2} * tiles);
    launch(op, write_front_kernel<K>, by_tiles, front, of_tiles.as<const uint32_t>(), sorted_.keys(),
           places_.as<uint32_t>());
    sorted_.sort(bits);
  }

  // Names a place of a row by its number in the order.
  struct Places {
    const uint32_t *order, *places;
    int64_t wanted;
    TW_DEVICE int64_t operator()(int64_t row, int64_t j) const {
      return places[row * wanted + order[row * wanted + j]];
    }
  };
  Places places() const { return {sorted_.places(), places_.as<const uint32_t>(), sorted_.length()}; }

 private:
  SortedRows<K> sorted_;
  DeviceScratch places_;
};

}  // namespace tw::cuda
