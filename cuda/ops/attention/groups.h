// Attention forward on compute capability 9.0a, for heads of kColumns columns of a half type.
//
// A block has kRows queries of a head and three groups of threads. One thread of the first copies tiles, two
// of keys and two of values ahead of the other groups, which have kGroupRows queries each: so one group's
// softmax runs beside the other's products. A tile is free again when each warp that multiplies with it has
// arrived at its barrier.
#pragma once

#include "cuda/common/group_product.h"
#include "cuda/ops/attention/forward.h"

namespace tw::cuda {

template <int kColumns>
struct GroupsShape {
  static constexpr int kGroups = 2, kWarps = kGroups * kGroupThreads / kLanes;  // that multiply
  static constexpr int kThreads = (kGroups + 1) * kGroupThreads;
  static constexpr int kRows = kGroups * kGroupRows, kKeys = kRows, kStages = 2;
  // A tile of rows wider than what a copy moves is several panels, one after the other.
  static constexpr int kPanels = kColumns / kTileColumns, kPanelBytes = kRows * kTileColumns * 2;
  static constexpr int kTileBytes = kPanels * kPanelBytes;
  static constexpr unsigned kSharedBytes = kTileAlignment + (1 + 2 * kStages) * kTileBytes;
  // What a thread of each kind needs: together all that a processor has.
  static constexpr int kCopyRegisters = 40, kGroupRegisters = 232;
};

struct AttentionMaps {
  TensorMap q, k, v;
};

// What the groups hand each other, in shared memory: tiles of kTileBytes, one of queries and kStages of keys
// and of values, which are there, and which are free again.
template <class Shape>
struct Stages {
  char* q;
  Barrier *q_there, *k_there, *v_there, *k_free, *v_free;

  TW_DEVICE Stages(char* memory, Barrier* barriers)
      : q(memory + (kTileAlignment - reinterpret_cast<uintptr_t>(memory) % kTileAlignment) % kTileAlignment),
        q_there(barriers),
        k_there(barriers + 1),
        v_there(k_there + Shape::kStages),
        k_free(v_there + Shape::kStages),
        v_free(k_free + Shape::kStages) {}
  static constexpr int kBarriers = 1 + 4 * Shape::kStages;

  TW_DEVICE char* k(int stage) const { return q + (1 + 2 * stage) * Shape::kTileBytes; }
  TW_DEVICE char* v(int stage) const { return k(stage) + Shape::kTileBytes; }

  TW_DEVICE void begin() const {
    begin_barrier(q_there, 1);
    for (int stage = 0; stage < Shape::kStages; stage++) {
      begin_barrier(k_there + stage, 1);
      begin_barrier(v_there + stage, 1);
      begin_barrier(k_free + stage, Shape::kWarps);
      begin_barrier(v_free + stage, Shape::kWarps);
    }
    publish_barriers();
  }
};

template <class Shape>
TW_DEVICE void copy_positions(char* to, const TensorMap& map, int first, int head, int batch,
                              Barrier* there) {
  arrive_and_expect(there, Shape::kTileBytes);
  for (int panel = 0; panel < Shape::kPanels; panel++)
    copy_tile(to + panel * Shape::kPanelBytes, map, panel * kTileColumns, first, head, batch, there);
}

// By one thread.
template <class Shape>
TW_DEVICE void copy_all(const AttentionMaps& maps, const Stages<Shape>& stages, int first, int tiles,
                        int head, int group, int batch) {
  copy_positions<Shape>(stages.q, maps.q, first, head, batch, stages.q_there);
  for (int t = 0; t < tiles; t++) {
    int stage = t % Shape::kStages, round = t / Shape::kStages, key = t * Shape::kKeys;
    wait_for(stages.k_free + stage, round - 1);
    copy_positions<Shape>(stages.k(stage), maps.k, key, group, batch, stages.k_there + stage);
    wait_for(stages.v_free + stage, round - 1);
    copy_positions<Shape>(stages.v(stage), maps.v, key, group, batch, stages.v_there + stage);
  }
}

// sums = the group's rows of queries times those of keys.
template <class T, class Shape, int kTiles>
TW_DEVICE void multiply_positions(Sums<1, kTiles>& sums, TileFactor q, TileFactor k) {
  hold(sums.at[0]);
  begin_products();
  TW_UNROLL
  for (int step = 0; step < Shape::kPanels * kTileColumns / 16; step++) {
    int at = step / 4 * Shape::kPanelBytes + step % 4 * 32;
    multiply_tiles<T>(sums.at[0], q.after(at), k.after(at), step > 0);
  }
  end_products();
  wait_for_products<0>();
  hold(sums.at[0]);
}

// sums += weights times rows of values.
template <class T, int kTiles, int kDepthTiles>
TW_DEVICE void multiply_values(Sums<1, kTiles>& sums, const Weights<1, kDepthTiles>& weights, TileFactor v) {
  hold(sums.at[0]);
  begin_products();
  TW_UNROLL
  for (int step = 0; step < kDepthTiles; step++)
    multiply_held<T>(sums.at[0], weights.at[0][step], v.after(step * 16 * kTileColumns * 2));
  end_products();
  wait_for_products<0>();
  hold(sums.at[0]);
}

template <class T, int kColumns>
TW_DEVICE void attend_with_group(const Problem<T>& p, const Stages<GroupsShape<kColumns>>& stages,
                                 const BlockPlace& at, int64_t first, int tiles) {
  using Shape = GroupsShape<kColumns>;
  constexpr int kKeys = Shape::kKeys;
  int rows = (warp_index() - kGroupThreads / kLanes) / (kGroupThreads / kLanes) * kGroupRows;  // of the group
  int own = rows + warp_index() % (kGroupThreads / kLanes) * kRowTile;
  TileFactor q = tile_factor(stages.q, Shape::kPanelBytes).after(rows * kTileColumns * 2);
  auto free_tile = [&](Barrier* free) {
    if (lane_index() == 0) arrive(free);
  };
  Sums<1, kColumns / 8> result;
  RunningSoftmax<1> softmax;
  wait_for(stages.q_there, 0);
  for (int t = 0; t < tiles; t++) {
    int stage = t % Shape::kStages, round = t / Shape::kStages;
    Sums<1, kKeys / 8> scores;
    wait_for(stages.k_there + stage, round);
    multiply_positions<T, Shape>(scores, q, tile_factor(stages.k(stage), Shape::kPanelBytes));
    free_tile(stages.k_free + stage);
    log2_scores<Shape::kRows, kKeys>(p, scores, at, first, int64_t{t} * kKeys,
                                     [&](int r, int column) { return Pair{own + row_of_lane(r), column}; });
    softmax.take(scores, result);
    auto weights = rounded<T>(scores);
    wait_for(stages.v_there + stage, round);
    multiply_values<T>(result, weights, tile_factor(stages.v(stage), Shape::kPanelBytes));
    free_tile(stages.v_free + stage);
  }
  finish_rows(p, at, first + own, softmax, result);
  write_rows(head_rows(p.result, at.batch, at.head, p.queries), first + own, result);
}

template <class T, int kColumns>
__global__ void __launch_bounds__(GroupsShape<kColumns>::kThreads, 1)
    attention_forward_groups(Problem<T> p, const __grid_constant__ AttentionMaps maps) {
  if constexpr (kIs90a) {
    using Shape = GroupsShape<kColumns>;
    BlockPlace at = block_place(tiles_of<Shape::kRows>(p.queries), p.heads, p.causal);
    int64_t first = int64_t{at.tile} * Shape::kRows, group = at.head / (p.heads / p.groups);
    int tiles = tiles_of<Shape::kKeys>(p.seen_keys(first + Shape::kRows));
    TW_SHARED(Barrier, barriers, Stages<Shape>::kBarriers);
    Stages<Shape> stages(dynamic_shared<char>(), barriers);
    if (threadIdx.x == 0) stages.begin();
    __syncthreads();
    if (threadIdx.x < kGroupThreads) {
      give_registers<Shape::kCopyRegisters>();
      if (threadIdx.x == 0)
        copy_all<Shape>(maps, stages, static_cast<int>(first), tiles, static_cast<int>(at.head),
                        static_cast<int>(group), static_cast<int>(at.batch));
    } else {
      take_registers<Shape::kGroupRegisters>();
      attend_with_group<T, kColumns>(p, stages, at, first, tiles);
    }
  }
}

}  // namespace tw::cuda
