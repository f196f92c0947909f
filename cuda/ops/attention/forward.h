// Attention forward on tensor cores, for heads of kColumns columns of a half type.
//
// A block has kRows queries of a head, a warp 32 of them. Keys and values come in tiles of kKeys, the next
// one while this one is multiplied. Each row keeps its greatest score so far and the sum of exponentials less
// it; when a greater one comes, both the sum and the row of the result shrink.
#pragma once

#include "cuda/common/exp2.h"
#include "cuda/common/row_values.h"
#include "cuda/ops/attention/scores.h"

namespace tw::cuda {

template <class T, int kColumns>
struct ForwardShape {
  static constexpr int kThreads = block_threads(128), kRowTiles = 2;
  static constexpr int kRows = kThreads / kLanes * kRowTiles * kRowTile;
  static constexpr int kKeys = kColumns == 64 ? 64 : 32;  // as many as registers hold the scores of
  static constexpr unsigned kSharedBytes = (kRows + 4 * kKeys) * kColumns * sizeof(T);
};

// Combines the four lanes that share a row.
template <class Combine>
TW_DEVICE float of_whole_row(float value, Combine combine) {
  value = combine(value, shuffle_xor(value, 1));
  return combine(value, shuffle_xor(value, 2));
}

// What the rows of a warp's scores have come to; each lane has a part of the totals of its rows.
template <int kRowTiles>
struct RunningSoftmax {
  static constexpr int kRows = 2 * kRowTiles;
  static constexpr float kLowest = -std::numeric_limits<float>::infinity();
  float most[kRows], total[kRows];

  TW_DEVICE RunningSoftmax() {
    TW_UNROLL
    for (int r = 0; r < kRows; r++) {
      most[r] = kLowest;
      total[r] = 0;
    }
  }

  // Turns scores into weights, and shrinks the result so far to what they are weights of.
  template <int kKeyTiles, int kColumnTiles>
  TW_DEVICE void take(Sums<kRowTiles, kKeyTiles>& scores, Sums<kRowTiles, kColumnTiles>& result) {
    TW_UNROLL
    for (int r = 0; r < kRows; r++) {
      float now = most[r], sum = 0;
      scores.each_of_row(r, [&](float s) { now = fmaxf(now, s); });
      now = of_whole_row(now, Larger());
      // A row that has seen nothing yet has -inf throughout, which less 0 stays so.
      float base = now == kLowest ? 0.0f : now, shrink = fast_exp2(most[r] - base);
      scores.each_of_row(r, [&](float& s) {
        s = fast_exp2(s - base);
        sum += s;
      });
      total[r] = total[r] * shrink + sum;
      most[r] = now;
      result.each_of_row(r, [&](float& x) { x *= shrink; });
    }
  }
};

// Writes the log_sums of a warp's rows, from `first` on, and makes the result the mean that it stands for. A
// row that sees nothing has weights of 0, and +inf for what would make them so.
template <class T, int kRowTiles, int kColumnTiles>
TW_DEVICE void finish_rows(const Problem<T>& p, const BlockPlace& at, int64_t first,
                           const RunningSoftmax<kRowTiles>& softmax, Sums<kRowTiles, kColumnTiles>& result) {
  constexpr int kRows = 2 * kRowTiles;
  TW_UNROLL
  for (int r = 0; r < kRows; r++) {
    float total = of_whole_row(softmax.total[r], Plus());
    int64_t i = first + row_of_lane(r);
    if (lane_index() % 4 == 0 && i < p.queries)
      p.log_sums[p.log_sum_place(at.batch, at.head) + i] =
          total == 0 ? -softmax.kLowest : softmax.most[r] / kLog2E + std::log(total);
    float factor = total == 0 ? 0.0f : 1 / total;
    result.each_of_row(r, [&](float& x) { x *= factor; });
  }
}

template <class T, int kColumns>
__global__ void __launch_bounds__(ForwardShape<T, kColumns>::kThreads) attention_forward_tiles(Problem<T> p) {
  using Shape = ForwardShape<T, kColumns>;
  constexpr int kRows = Shape::kRows, kKeys = Shape::kKeys, kRowTiles = Shape::kRowTiles;
  BlockPlace at = block_place(tiles_of<kRows>(p.queries), p.heads, p.causal);
  int64_t first = int64_t{at.tile} * kRows, group = at.head / (p.heads / p.groups);
  auto keys = head_rows(p.k, at.batch, group, p.keys), values = head_rows(p.v, at.batch, group, p.keys);
  int own = warp_index() * kRowTiles * kRowTile;

  // Queries, then two pairs of a tile of keys and one of values.
  Tile<T, kColumns> q{dynamic_shared<T>()}, pairs{q.data + kRows * kColumns};
  auto fetch_pair = [&](int t) {
    Tile<T, kColumns> k = pairs.template after<kKeys>(t % 2 * 2), v = k.template after<kKeys>(1);
    fetch_rows<kKeys, Shape::kThreads>(k, keys, t * kKeys);
    fetch_rows<kKeys, Shape::kThreads>(v, values, t * kKeys);
  };
  int tiles = tiles_of<kKeys>(p.seen_keys(first + kRows));
  fetch_rows<kRows, Shape::kThreads>(q, head_rows(p.q, at.batch, at.head, p.queries), first);
  if (tiles > 0) fetch_pair(0);
  commit_copies();

  Sums<kRowTiles, kColumns / 8> result;
  RunningSoftmax<kRowTiles> softmax;
  for (int t = 0; t < tiles; t++) {
    wait_for_copies<0>();
    __syncthreads();
    if (t + 1 < tiles) fetch_pair(t + 1);
    commit_copies();
    Tile<T, kColumns> k = pairs.template after<kKeys>(t % 2 * 2), v = k.template after<kKeys>(1);
    Sums<kRowTiles, kKeys / 8> scores;
    multiply_rows(scores, q, own, k);
    log2_scores<kRows, kKeys>(p, scores, at, first, t * kKeys,
                              [&](int r, int column) { return Pair{own + row_of_lane(r), column}; });
    softmax.take(scores, result);
    multiply_weights(result, rounded<T>(scores), v);
  }
  wait_for_copies<0>();
  __syncthreads();

  finish_rows(p, at, first + own, softmax, result);
  write_rows(head_rows(p.result, at.batch, at.head, p.queries), first, q, own, result);
}

}  // namespace tw::cuda
