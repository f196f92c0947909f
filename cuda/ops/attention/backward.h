// The gradient of attention on tensor cores, for heads of kColumns columns of a half type. Weights are
// computed again from the scores and the logsumexp, by two kernels that each sum in one block what belongs
// together, so that no sum depends on the order of blocks.
//
// With P the weights, dP = dO Vᵀ and D = P ∘ (dP - Σ dO O), which is the gradient of the scores: dV = Pᵀ dO,
// dK = scale Dᵀ Q, dQ = scale D K. The row sums of dO O are made first, a number a query.
#pragma once

#include "cuda/ops/attention/forward.h"

namespace tw::cuda {

// Of a row of queries: its logsumexp in units of log 2, and Σ dO O.
struct alignas(8) RowNumbers {
  float log_sum, product;
};

template <class T>
struct Gradients {
  static constexpr int kWhole = 64;  // queries of the largest tile
  Problem<T> p;
  RowNumbers* numbers;  // [B, H, rows()]: of a query, or zeros

  TW_BOTH int64_t rows() const { return (p.queries + kWhole - 1) / kWhole * kWhole; }
  TW_DEVICE int64_t place(const BlockPlace& at, int64_t i) const {
    return (at.batch * p.heads + at.head) * rows() + i;
  }
  TW_DEVICE RowNumbers numbers_of(const BlockPlace& at, int64_t i) const {
    return i < p.queries ? numbers[place(at, i)] : RowNumbers{0, 0};
  }
};

// kColumns / kPiece lanes have a row.
template <class T, int kColumns>
__global__ void __launch_bounds__(block_threads(256)) attention_row_products(Gradients<T> g) {
  constexpr int kShare = kColumns / kPiece;
  const Problem<T>& p = g.p;
  int64_t row = (int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / kShare;
  int64_t h = row % p.heads, i = row / p.heads % g.rows(), b = row / p.heads / g.rows();
  bool kept = b < p.batches, there = kept && i < p.queries;
  float sum = 0;
  if (there) {
    int64_t column = int64_t{threadIdx.x % kShare} * kPiece;
    auto grad = load_pack<kPiece>(p.grad.row(b, i, h) + column);
    auto result = load_pack<kPiece>(p.result.row(b, i, h) + column);
    TW_UNROLL
    for (int c = 0; c < kPiece; c++) sum += load<T>(grad.at[c]) * load<T>(result.at[c]);
  }
  TW_UNROLL
  for (int lanes = kShare / 2; lanes > 0; lanes /= 2) sum += shuffle_xor(sum, lanes);
  if (kept && threadIdx.x % kShare == 0)
    g.numbers[g.place({0, h, b}, i)] = {there ? p.log_sums[p.log_sum_place(b, h) + i] * kLog2E : 0.0f, sum};
}

// kWarpTiles tiles of 16 rows a warp; the other side in tiles of kOthers: as many as registers hold.
template <class T, int kColumns, int kWarpTiles, int kOtherRows>
struct BackwardShape {
  static constexpr int kThreads = block_threads(128), kRowTiles = kWarpTiles, kOthers = kOtherRows;
  static constexpr int kRows = kThreads / kLanes * kRowTiles * kRowTile;
  static constexpr unsigned kTilesBytes = (2 * kRows + 4 * kOthers) * kColumns * sizeof(T);
  static constexpr unsigned kNumbersBytes = 2 * kOthers * sizeof(RowNumbers);
};
template <class T, int kColumns>
using DqShape = BackwardShape<T, kColumns, kColumns == 64 ? 2 : 1, 32>;
template <class T, int kColumns>
using DkvShape = BackwardShape<T, kColumns, 1, kColumns == 64 ? 64 : 32>;

// A block has kRows queries, and takes keys and values in tiles of kOthers.
template <class T, int kColumns>
__global__ void __launch_bounds__(DqShape<T, kColumns>::kThreads) attention_dq_tiles(Gradients<T> g) {
  using Shape = DqShape<T, kColumns>;
  constexpr int kRows = Shape::kRows, kKeys = Shape::kOthers, kRowTiles = Shape::kRowTiles;
  const Problem<T>& p = g.p;
  BlockPlace at = block_place(tiles_of<kRows>(p.queries), p.heads, p.causal);
  int64_t first = int64_t{at.tile} * kRows, group = at.head / (p.heads / p.groups);
  auto keys = head_rows(p.k, at.batch, group, p.keys), values = head_rows(p.v, at.batch, group, p.keys);
  int own = warp_index() * kRowTiles * kRowTile;

  // Queries, the result's gradient, then two pairs of a tile of keys and one of values.
  Tile<T, kColumns> q{dynamic_shared<T>()}, grad = q.template after<kRows>(1),
                                            pairs = q.template after<kRows>(2);
  auto fetch_pair = [&](int t) {
    Tile<T, kColumns> k = pairs.template after<kKeys>(t % 2 * 2), v = k.template after<kKeys>(1);
    fetch_rows<kKeys, Shape::kThreads>(k, keys, t * kKeys);
    fetch_rows<kKeys, Shape::kThreads>(v, values, t * kKeys);
  };
  int tiles = tiles_of<kKeys>(p.seen_keys(first + kRows));
  fetch_rows<kRows, Shape::kThreads>(q, head_rows(p.q, at.batch, at.head, p.queries), first);
  fetch_rows<kRows, Shape::kThreads>(grad, head_rows(p.grad, at.batch, at.head, p.queries), first);
  if (tiles > 0) fetch_pair(0);
  commit_copies();

  constexpr int kOfLane = 2 * kRowTiles;  // rows
  RowNumbers numbers[kOfLane];
  TW_UNROLL
  for (int r = 0; r < kOfLane; r++) numbers[r] = g.numbers_of(at, first + own + row_of_lane(r));
  Sums<kRowTiles, kColumns / 8> dq;
  for (int t = 0; t < tiles; t++) {
    wait_for_copies<0>();
    __syncthreads();
    if (t + 1 < tiles) fetch_pair(t + 1);
    commit_copies();
    Tile<T, kColumns> k = pairs.template after<kKeys>(t % 2 * 2), v = k.template after<kKeys>(1);
    Sums<kRowTiles, kKeys / 8> weights;
    multiply_rows(weights, q, own, k);
    log2_scores<kRows, kKeys>(p, weights, at, first, t * kKeys,
                              [&](int r, int column) { return Pair{own + row_of_lane(r), column}; });
    weights.each([&](float& w, int r, int) { w = fast_exp2(w - numbers[r].log_sum); });
    Sums<kRowTiles, kKeys / 8> slopes;
    multiply_rows(slopes, grad, own, v);
    slopes.centre_and_weigh(weights, [&](int r, int) { return numbers[r].product; });
    multiply_weights(dq, rounded<T>(slopes), k);
  }
  wait_for_copies<0>();
  __syncthreads();
  dq.each([&](float& x, int, int) { x *= p.scale; });
  write_rows(head_rows(p.dq, at.batch, at.head, p.queries), first, q, own, dq);
}

// The tiles of queries that see the keys from `first` on, of all heads of a group; none before the keys where
// attention is causal.
template <int kQueries>
struct QuerySteps {
  int skipped, of_head, count;
  int64_t head, batch;

  template <class T>
  TW_DEVICE QuerySteps(const Problem<T>& p, const BlockPlace& at, int64_t first)
      : skipped(p.causal ? static_cast<int>(first / kQueries) : 0),
        of_head(tiles_of<kQueries>(p.queries) - skipped),
        count(of_head > 0 ? of_head * static_cast<int>(p.heads / p.groups) : 0),
        head(at.head * (p.heads / p.groups)),
        batch(at.batch) {}
  TW_DEVICE BlockPlace place(int t) const { return {skipped + t % of_head, head + t / of_head, batch}; }
};

// A block has kRows keys, and takes the queries and gradients of all heads of their group in tiles of
// kOthers. Scores and weights are transposed: a row for a key.
template <class T, int kColumns>
__global__ void __launch_bounds__(DkvShape<T, kColumns>::kThreads) attention_dkv_tiles(Gradients<T> g) {
  using Shape = DkvShape<T, kColumns>;
  constexpr int kRows = Shape::kRows, kQueries = Shape::kOthers, kRowTiles = Shape::kRowTiles;
  const Problem<T>& p = g.p;
  BlockPlace at = block_place(tiles_of<kRows>(p.keys), p.groups, false);
  int64_t first = int64_t{at.tile} * kRows, group = at.head;
  int own = warp_index() * kRowTiles * kRowTile;

  // Keys, values, then two pairs of a tile of queries and one of gradients, then their rows' numbers.
  Tile<T, kColumns> k{dynamic_shared<T>()}, v = k.template after<kRows>(1),
                                            pairs = k.template after<kRows>(2);
  auto* numbers = reinterpret_cast<RowNumbers*>(pairs.template after<kQueries>(4).data);
  QuerySteps<kQueries> steps(p, at, first);
  auto fetch_step = [&](int t) {
    BlockPlace from = steps.place(t);
    Tile<T, kColumns> q = pairs.template after<kQueries>(t % 2 * 2), grad = q.template after<kQueries>(1);
    int64_t query = int64_t{from.tile} * kQueries;
    fetch_rows<kQueries, Shape::kThreads>(q, head_rows(p.q, at.batch, from.head, p.queries), query);
    fetch_rows<kQueries, Shape::kThreads>(grad, head_rows(p.grad, at.batch, from.head, p.queries), query);
    fetch_numbers<kQueries, Shape::kThreads>(numbers + t % 2 * kQueries, g.numbers + g.place(from, query));
  };
  fetch_rows<kRows, Shape::kThreads>(k, head_rows(p.k, at.batch, group, p.keys), first);
  fetch_rows<kRows, Shape::kThreads>(v, head_rows(p.v, at.batch, group, p.keys), first);
  if (steps.count > 0) fetch_step(0);
  commit_copies();

  Sums<kRowTiles, kColumns / 8> dk, dv;
  for (int t = 0; t < steps.count; t++) {
    wait_for_copies<0>();
    __syncthreads();
    if (t + 1 < steps.count) fetch_step(t + 1);
    commit_copies();
    BlockPlace from = steps.place(t);
    Tile<T, kColumns> q = pairs.template after<kQueries>(t % 2 * 2), grad = q.template after<kQueries>(1);
    const RowNumbers* of_query = numbers + t % 2 * kQueries;
    Sums<kRowTiles, kQueries / 8> weights;
    multiply_rows(weights, k, own, q);
    log2_scores<kQueries, kRows>(p, weights, from, int64_t{from.tile} * kQueries, first,
                                 [&](int r, int column) { return Pair{column, own + row_of_lane(r)}; });
    weights.each([&](float& w, int, int column) { w = fast_exp2(w - of_query[column].log_sum); });
    multiply_weights(dv, rounded<T>(weights), grad);
    Sums<kRowTiles, kQueries / 8> slopes;
    multiply_rows(slopes, v, own, grad);
    slopes.centre_and_weigh(weights, [&](int, int column) { return of_query[column].product; });
    multiply_weights(dk, rounded<T>(slopes), q);
  }
  wait_for_copies<0>();
  __syncthreads();
  dk.each([&](float& x, int, int) { x *= p.scale; });
  write_rows(head_rows(p.dk, at.batch, group, p.keys), first, k, own, dk);
  write_rows(head_rows(p.dv, at.batch, group, p.keys), first, v, own, dv);
}

}  // namespace tw::cuda
