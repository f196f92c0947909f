// What the kernels of attention by groups of warps share, on compute capability 9.0a: for heads of kColumns
// columns of a half type.
//
// A block has three groups of threads. One thread of the first copies tiles, and runs ahead of the other two,
// which have kGroupRows rows of the block's tile each: so the arithmetic of one group runs beside the
// products of the other. Tiles that come one after the other go round in rings.
#pragma once

#include "cuda/common/group_product.h"
#include "cuda/ops/attention/scores.h"

namespace tw::cuda {

inline constexpr int kGroupWarps = kGroupThreads / kLanes;

template <int kColumns>
struct GroupsShape {
  static constexpr int kGroups = 2, kWarps = kGroups * kGroupWarps;  // that multiply
  static constexpr int kThreads = (kGroups + 1) * kGroupThreads, kRows = kGroups * kGroupRows;
  // What a thread of each kind needs: together all that a processor has.
  static constexpr int kCopyRegisters = 40, kGroupRegisters = 232;
};

// Rows of a head in shared memory. Those wider than what a copy moves are several panels, one after the
// other.
template <int kRows, int kColumns>
struct GroupTile {
  static constexpr int kPanels = kColumns / kTileColumns, kPanelBytes = kRows * kTileColumns * 2;
  static constexpr int kBytes = kPanels * kPanelBytes;
  char* data;

  // Begins to copy them, kGroupRows at a time; zeros where there are none. Whoever waits is to expect kBytes.
  TW_DEVICE void copy(const TensorMap& map, int first, int64_t head, int64_t batch, Barrier* there) const {
    for (int panel = 0; panel < kPanels; panel++)
      for (int row = 0; row < kRows; row += kGroupRows)
        copy_tile(data + panel * kPanelBytes + row * kTileColumns * 2, map, panel * kTileColumns, first + row,
                  static_cast<int>(head), static_cast<int>(batch), there);
  }
  // As a factor of products, from a row on that is a multiple of 8.
  TW_DEVICE TileFactor factor(int row = 0) const {
    return tile_factor(data, kPanelBytes).after(row * kTileColumns * 2);
  }
};

// Begins sums = a bᵀ, of kGroupRows rows of a; their product is a batch.
template <class T, class TileOfA, class TileOfB, int kTiles>
TW_DEVICE void begin_scores(Sums<1, kTiles>& sums, TileOfA a, int row, TileOfB b) {
  constexpr int kSteps = TileOfA::kPanels * kTileColumns / 16, kOfPanel = kTileColumns / 16;
  TileFactor of_a = a.factor(row), of_b = b.factor();
  hold(sums.at[0]);
  begin_products();
  TW_UNROLL
  for (int step = 0; step < kSteps; step++)
    multiply_tiles<T>(sums.at[0], of_a.after(step / kOfPanel * TileOfA::kPanelBytes + step % kOfPanel * 32),
                      of_b.after(step / kOfPanel * TileOfB::kPanelBytes + step % kOfPanel * 32), step > 0);
  end_products();
}

// Begins sums += weights b, which has a row for each column of the weights; their product is a batch.
template <class T, class TileOfB, int kTiles, int kDepthTiles>
TW_DEVICE void begin_weighted(Sums<1, kTiles>& sums, const Weights<1, kDepthTiles>& weights, TileOfB b) {
  TileFactor of_b = b.factor();
  hold(sums.at[0]);
  begin_products();
  TW_UNROLL
  for (int step = 0; step < kDepthTiles; step++)
    multiply_held<T>(sums.at[0], weights.at[0][step], of_b.after(step * 16 * kTileColumns * 2));
  end_products();
}

// Waits for all batches but the newest kLeft.
template <int kLeft, class... S>
TW_DEVICE void end_sums(S&... sums) {
  wait_for_products<kLeft>();
  (hold(sums.at[0]), ...);
}

// kStages places, of which step t has number t % kStages, and what says that they are filled, and free again.
struct Ring {
  static constexpr int kStages = 2, kBarriers = 2 * kStages;
  Barrier* barriers;

  TW_DEVICE Barrier* there(int t) const { return barriers + t % kStages; }
  TW_DEVICE Barrier* free(int t) const { return barriers + kStages + t % kStages; }

  TW_DEVICE void begin(int readers) const {
    for (int stage = 0; stage < kStages; stage++)
      begin_barrier(there(stage), 1), begin_barrier(free(stage), readers);
  }
  // The one that fills: when it may, and that so many bytes are coming.
  TW_DEVICE Barrier* fill(int t, int size_bytes) const {
    wait_for(free(t), t / kStages - 1);
    arrive_and_expect(there(t), size_bytes);
    return there(t);
  }
  // Those who read: every thread waits, every warp leaves.
  TW_DEVICE void wait(int t) const { wait_for(there(t), t / kStages); }
  TW_DEVICE void leave(int t) const {
    if (lane_index() == 0) arrive(free(t));
  }
};

// Of the groups that multiply: the first row of the thread's group, and of its warp.
TW_DEVICE int group_row() { return (warp_index() / kGroupWarps - 1) * kGroupRows; }
TW_DEVICE int warp_row() { return group_row() + warp_index() % kGroupWarps * kRowTile; }

// The block's tiles, one after the other from where tiles may begin.
struct TileMemory {
  char* next;

  TW_DEVICE TileMemory() {
    char* memory = dynamic_shared<char>();
    next = memory + (kTileAlignment - reinterpret_cast<uintptr_t>(memory) % kTileAlignment) % kTileAlignment;
  }
  template <class TileType>
  TW_DEVICE TileType take(int count = 1) {
    TileType tile{next};
    next += count * TileType::kBytes;
    return tile;
  }
};
template <class TileType>
TW_DEVICE TileType stage_of(TileType tiles, int t) {
  return {tiles.data + t % Ring::kStages * TileType::kBytes};
}

// Runs `copy` on one thread and `multiply` on the groups, when the barriers that `begin` makes are there.
template <class Shape, class Begin, class Copy, class Multiply>
TW_DEVICE void share_among_groups(Begin begin, Copy copy, Multiply multiply) {
  if (threadIdx.x == 0) {
    begin();
    publish_barriers();
  }
  __syncthreads();
  if (threadIdx.x < kGroupThreads) {
    give_registers<Shape::kCopyRegisters>();
    if (threadIdx.x == 0) copy();
  } else {
    take_registers<Shape::kGroupRegisters>();
    multiply();
  }
}

}  // namespace tw::cuda
