// The gradient of attention by groups of warps (groups.h), as backward.h has it.
#pragma once

#include "cuda/ops/attention/backward.h"
#include "cuda/ops/attention/groups.h"

namespace tw::cuda {

template <int kColumns>
struct GroupsBackwardShape : GroupsShape<kColumns> {
  static constexpr int kOthers = kGroupRows;  // as many as registers hold the scores of
  using Own = GroupTile<GroupsShape<kColumns>::kRows, kColumns>;
  using Other = GroupTile<kOthers, kColumns>;
  static constexpr int kNumbersBytes = kOthers * sizeof(RowNumbers);
  static constexpr unsigned kSharedBytes =
      kTileAlignment + 2 * Own::kBytes + Ring::kStages * (2 * Other::kBytes + kNumbersBytes);
};

struct BackwardMaps {
  TensorMap q, k, v, grad;
};

// A block has kRows queries, and takes keys and values in tiles of kOthers.
template <class T, int kColumns>
__global__ void __launch_bounds__(GroupsBackwardShape<kColumns>::kThreads, 1)
    attention_dq_groups(Gradients<T> g, const __grid_constant__ BackwardMaps maps) {
  if constexpr (kIs90a) {
    using Shape = GroupsBackwardShape<kColumns>;
    using Own = typename Shape::Own;
    using Other = typename Shape::Other;
    constexpr int kRows = Shape::kRows, kKeys = Shape::kOthers;
    const Problem<T>& p = g.p;
    BlockPlace at = block_place(tiles_of<kRows>(p.queries), p.heads, p.causal);
    int64_t first = int64_t{at.tile} * kRows, group = at.head / (p.heads / p.groups);
    int tiles = tiles_of<kKeys>(p.seen_keys(first + kRows));
    TileMemory memory;
    auto q = memory.take<Own>(), grad = memory.take<Own>();
    auto k = memory.take<Other>(Ring::kStages), v = memory.take<Other>(Ring::kStages);
    TW_SHARED(Barrier, barriers, 1 + Ring::kBarriers);
    Ring ring{barriers + 1};

    auto begin = [&] {
      begin_barrier(barriers, 1);
      ring.begin(Shape::kWarps);
    };
    auto copy = [&] {
      arrive_and_expect(barriers, 2 * Own::kBytes);
      q.copy(maps.q, static_cast<int>(first), at.head, at.batch, barriers);
      grad.copy(maps.grad, static_cast<int>(first), at.head, at.batch, barriers);
      for (int t = 0; t < tiles; t++) {
        Barrier* there = ring.fill(t, 2 * Other::kBytes);
        stage_of(k, t).copy(maps.k, t * kKeys, group, at.batch, there);
        stage_of(v, t).copy(maps.v, t * kKeys, group, at.batch, there);
      }
    };
    auto multiply = [&] {
      int own = warp_row();
      RowNumbers numbers[2];
      TW_UNROLL
      for (int r = 0; r < 2; r++) numbers[r] = g.numbers_of(at, first + own + row_of_lane(r));
      Sums<1, kColumns / 8> dq;
      wait_for(barriers, 0);
      for (int t = 0; t < tiles; t++) {
        Sums<1, kKeys / 8> weights, slopes;
        ring.wait(t);
        begin_scores<T>(weights, q, group_row(), stage_of(k, t));
        begin_scores<T>(slopes, grad, group_row(), stage_of(v, t));
        end_sums<1>(weights);
        log2_scores<kRows, kKeys>(p, weights, at, first, int64_t{t} * kKeys,
                                  [&](int r, int column) { return Pair{own + row_of_lane(r), column}; });
        weights.each([&](float& w, int r, int) { w = fast_exp2(w - numbers[r].log_sum); });
        end_sums<0>(slopes);
        slopes.centre_and_weigh(weights, [&](int r, int) { return numbers[r].product; });
        auto factor = rounded<T>(slopes);
        begin_weighted<T>(dq, factor, stage_of(k, t));
        end_sums<0>(dq);
        ring.leave(t);
      }
      dq.each([&](float& x, int, int) { x *= p.scale; });
      write_rows(head_rows(p.dq, at.batch, at.head, p.queries), first + own, dq);
    };
    share_among_groups<Shape>(begin, copy, multiply);
  }
}

// A block has kRows keys, and takes the queries and gradients of all heads of their group in tiles of
// kOthers. Scores and weights are transposed: a row for a key.
template <class T, int kColumns>
__global__ void __launch_bounds__(GroupsBackwardShape<kColumns>::kThreads, 1)
    attention_dkv_groups(Gradients<T> g, const __grid_constant__ BackwardMaps maps) {
  if constexpr (kIs90a) {
    using Shape = GroupsBackwardShape<kColumns>;
    using Own = typename Shape::Own;
    using Other = typename Shape::Other;
    constexpr int kRows = Shape::kRows, kQueries = Shape::kOthers;
    const Problem<T>& p = g.p;
    BlockPlace at = block_place(tiles_of<kRows>(p.keys), p.groups, false);
    int64_t first = int64_t{at.tile} * kRows;
    QuerySteps<kQueries> steps(p, at, first);
    TileMemory memory;
    auto k = memory.take<Own>(), v = memory.take<Own>();
    auto q = memory.take<Other>(Ring::kStages), grad = memory.take<Other>(Ring::kStages);
    auto* numbers = reinterpret_cast<RowNumbers*>(memory.next);
    TW_SHARED(Barrier, barriers, 1 + Ring::kBarriers);
    Ring ring{barriers + 1};
    auto numbers_of = [&](int t) { return numbers + t % Ring::kStages * kQueries; };

    auto begin = [&] {
      begin_barrier(barriers, 1);
      ring.begin(Shape::kWarps);
    };
    auto copy = [&] {
      arrive_and_expect(barriers, 2 * Own::kBytes);
      k.copy(maps.k, static_cast<int>(first), at.head, at.batch, barriers);
      v.copy(maps.v, static_cast<int>(first), at.head, at.batch, barriers);
      for (int t = 0; t < steps.count; t++) {
        BlockPlace from = steps.place(t);
        int query = from.tile * kQueries;
        Barrier* there = ring.fill(t, 2 * Other::kBytes + Shape::kNumbersBytes);
        stage_of(q, t).copy(maps.q, query, from.head, at.batch, there);
        stage_of(grad, t).copy(maps.grad, query, from.head, at.batch, there);
        copy_bytes(numbers_of(t), g.numbers + g.place(from, query), Shape::kNumbersBytes, there);
      }
    };
    auto multiply = [&] {
      int own = warp_row();
      Sums<1, kColumns / 8> dk, dv;
      wait_for(barriers, 0);
      for (int t = 0; t < steps.count; t++) {
        BlockPlace from = steps.place(t);
        const RowNumbers* of_query = numbers_of(t);
        Sums<1, kQueries / 8> weights, slopes;
        ring.wait(t);
        begin_scores<T>(weights, k, group_row(), stage_of(q, t));
        begin_scores<T>(slopes, v, group_row(), stage_of(grad, t));
        end_sums<1>(weights);
        log2_scores<kQueries, kRows>(p, weights, from, int64_t{from.tile} * kQueries, first,
                                     [&](int r, int column) { return Pair{column, own + row_of_lane(r)}; });
        weights.each([&](float& w, int, int column) { w = fast_exp2(w - of_query[column].log_sum); });
        auto of_grad = rounded<T>(weights);
        begin_weighted<T>(dv, of_grad, stage_of(grad, t));
        end_sums<1>(slopes);
        slopes.centre_and_weigh(weights, [&](int, int column) { return of_query[column].product; });
        auto of_q = rounded<T>(slopes);
        begin_weighted<T>(dk, of_q, stage_of(q, t));
        end_sums<0>(dv, dk);
        ring.leave(t);
      }
      dk.each([&](float& x, int, int) { x *= p.scale; });
      write_rows(head_rows(p.dk, at.batch, at.head, p.keys), first + own, dk);
      write_rows(head_rows(p.dv, at.batch, at.head, p.keys), first + own, dv);
    };
    share_among_groups<Shape>(begin, copy, multiply);
  }
}

}  // namespace tw::cuda
