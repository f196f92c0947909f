// Attention forward by groups of warps (groups.h). Keys and values have a ring each, so that scores are begun
// before the values are there.
#pragma once

#include "cuda/ops/attention/forward.h"
#include "cuda/ops/attention/groups.h"

namespace tw::cuda {

template <int kColumns>
struct GroupsForwardShape : GroupsShape<kColumns> {
  using Tile = GroupTile<GroupsShape<kColumns>::kRows, kColumns>;  // of queries, keys and values alike
  static constexpr int kKeys = GroupsShape<kColumns>::kRows;
  static constexpr unsigned kSharedBytes = kTileAlignment + (1 + 2 * Ring::kStages) * Tile::kBytes;
};

struct ForwardMaps {
  TensorMap q, k, v;
};

template <class T, int kColumns>
__global__ void __launch_bounds__(GroupsForwardShape<kColumns>::kThreads, 1)
    attention_forward_groups(Problem<T> p, const __grid_constant__ ForwardMaps maps) {
  if constexpr (kIs90a) {
    using Shape = GroupsForwardShape<kColumns>;
    using Tile = typename Shape::Tile;
    constexpr int kRows = Shape::kRows, kKeys = Shape::kKeys;
    BlockPlace at = block_place(tiles_of<kRows>(p.queries), p.heads, p.causal);
    int64_t first = int64_t{at.tile} * kRows, group = at.head / (p.heads / p.groups);
    int tiles = tiles_of<kKeys>(p.seen_keys(first + kRows));
    TileMemory memory;
    auto q = memory.take<Tile>(), k = memory.take<Tile>(Ring::kStages), v = memory.take<Tile>(Ring::kStages);
    TW_SHARED(Barrier, barriers, 1 + 2 * Ring::kBarriers);
    Ring of_k{barriers + 1}, of_v{barriers + 1 + Ring::kBarriers};

    auto begin = [&] {
      begin_barrier(barriers, 1);
      of_k.begin(Shape::kWarps);
      of_v.begin(Shape::kWarps);
    };
    auto copy = [&] {
      arrive_and_expect(barriers, Tile::kBytes);
      q.copy(maps.q, static_cast<int>(first), at.head, at.batch, barriers);
      for (int t = 0; t < tiles; t++) {
        stage_of(k, t).copy(maps.k, t * kKeys, group, at.batch, of_k.fill(t, Tile::kBytes));
        stage_of(v, t).copy(maps.v, t * kKeys, group, at.batch, of_v.fill(t, Tile::kBytes));
      }
    };
    auto multiply = [&] {
      int own = warp_row();
      Sums<1, kColumns / 8> result;
      RunningSoftmax<1> softmax;
      wait_for(barriers, 0);
      for (int t = 0; t < tiles; t++) {
        Sums<1, kKeys / 8> scores;
        of_k.wait(t);
        begin_scores<T>(scores, q, group_row(), stage_of(k, t));
        end_sums<0>(scores);
        of_k.leave(t);
        log2_scores<kRows, kKeys>(p, scores, at, first, int64_t{t} * kKeys,
                                  [&](int r, int column) { return Pair{own + row_of_lane(r), column}; });
        softmax.take(scores, result);
        auto weights = rounded<T>(scores);
        of_v.wait(t);
        begin_weighted<T>(result, weights, stage_of(v, t));
        end_sums<0>(result);
        of_v.leave(t);
      }
      finish_rows(p, at, first + own, softmax, result);
      write_rows(head_rows(p.result, at.batch, at.head, p.queries), first + own, result);
    };
    share_among_groups<Shape>(begin, copy, multiply);
  }
}

}  // namespace tw::cuda
