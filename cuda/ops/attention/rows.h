// Attention without tensor cores, in any floating dtype and for heads of up to kMostColumns columns; sums in
// float (double for double).
//
// A block has one row: forward and dq a query's, dk and dv a key's. It takes the other side in tiles of
// kTile: each thread makes weights of the tile, then each has columns of the result. Each row reads all of
// the other side, from the cache where that fits: far from the floor of attention.cu.
#pragma once

#include <cmath>
#include <limits>

#include "cuda/common/launch.h"
#include "cuda/common/row_values.h"
#include "cuda/common/warp.h"
#include "cuda/ops/attention/problem.h"

namespace tw::cuda {

namespace attention_rows {

constexpr int kThreads = block_threads(128);
constexpr int kTile = kThreads;    // the other side's positions, one a thread
constexpr int kMostColumns = 256;  // of a head
constexpr int kColumns = kMostColumns / kThreads > 0 ? kMostColumns / kThreads : 1;  // of a thread, at most

template <class T, class C>
TW_DEVICE C dot(const C* row, const stored_t<T>* other, int64_t count, int64_t step) {
  C sum = 0;
  for (int64_t c = 0; c < count; c++) sum += row[c] * load<T>(other[c * step]);
  return sum;
}

template <class T, class C>
TW_DEVICE void read_row(C* to, const stored_t<T>* from, int64_t count, int64_t step) {
  for (int64_t c = threadIdx.x; c < count; c += kThreads) to[c] = load<T>(from[c * step]);
}

template <class T>
__global__ void __launch_bounds__(kThreads) attention_forward_kernel(Problem<T> p) {
  using C = compute_t<T>;
  constexpr C kLowest = -std::numeric_limits<C>::infinity();
  TW_SHARED(C, q, kMostColumns);
  TW_SHARED(C, weights, kTile);
  int64_t i = blockIdx.x % p.queries, h = blockIdx.x / p.queries % p.heads,
          b = blockIdx.x / p.queries / p.heads;
  int64_t g = h / (p.heads / p.groups), keys = p.seen_keys(i + 1);
  read_row<T>(q, p.q.row(b, i, h), p.e, p.q.column);
  C most = kLowest, total = 0, sums[kColumns] = {};
  for (int64_t first = 0; first < keys; first += kTile) {
    int64_t j = first + threadIdx.x;
    __syncthreads();
    C s = j < keys ? p.score(dot<T>(q, p.k.row(b, j, g), p.e, p.k.column), b, h, i, j) : kLowest;
    C tile_most = block_reduce<kThreads>(s, kLowest, Larger());
    C now = most > tile_most ? most : tile_most;
    C shrink = now == kLowest ? C(1) : std::exp(most - now), weight = s == kLowest ? C(0) : std::exp(s - now);
    weights[threadIdx.x] = weight;
    total = total * shrink + block_reduce<kThreads>(weight, C(0), Plus());
    most = now;
    int64_t in_tile = keys - first < kTile ? keys - first : kTile;
    for (int c = 0; c < kColumns; c++) {
      int64_t column = threadIdx.x + int64_t{c} * kThreads;
      if (column >= p.f) break;
      C sum = sums[c] * shrink;
      for (int64_t t = 0; t < in_tile; t++)
        sum += weights[t] * load<T>(p.v.row(b, first + t, g)[column * p.v.column]);
      sums[c] = sum;
    }
  }
  // A row that sees nothing has weights of 0, and +inf for what would make them so.
  for (int c = 0; c < kColumns; c++) {
    int64_t column = threadIdx.x + int64_t{c} * kThreads;
    if (column < p.f)
      p.result.row(b, i, h)[column * p.result.column] = store<T>(total == C(0) ? C(0) : sums[c] / total);
  }
  if (threadIdx.x == 0)
    p.log_sums[p.log_sum_place(b, h) + i] =
        total == C(0) ? std::numeric_limits<C>::infinity() : most + std::log(total);
}

// Σ grad result of a row: what the softmax's gradient takes off.
template <class T>
TW_DEVICE compute_t<T> row_product(const Problem<T>& p, int64_t b, int64_t i, int64_t h) {
  using C = compute_t<T>;
  C sum = 0;
  for (int64_t c = 0; c < p.f; c++)
    sum +=
        load<T>(p.grad.row(b, i, h)[c * p.grad.column]) * load<T>(p.result.row(b, i, h)[c * p.result.column]);
  return sum;
}

template <class T>
__global__ void __launch_bounds__(kThreads) attention_dq_kernel(Problem<T> p) {
  using C = compute_t<T>;
  TW_SHARED(C, q, kMostColumns);
  TW_SHARED(C, grad, kMostColumns);
  TW_SHARED(C, slopes, kTile);
  int64_t i = blockIdx.x % p.queries, h = blockIdx.x / p.queries % p.heads,
          b = blockIdx.x / p.queries / p.heads;
  int64_t g = h / (p.heads / p.groups), keys = p.seen_keys(i + 1);
  read_row<T>(q, p.q.row(b, i, h), p.e, p.q.column);
  read_row<T>(grad, p.grad.row(b, i, h), p.f, p.grad.column);
  C log_sum = p.log_sums[p.log_sum_place(b, h) + i], product = row_product(p, b, i, h), sums[kColumns] = {};
  for (int64_t first = 0; first < keys; first += kTile) {
    int64_t j = first + threadIdx.x;
    __syncthreads();
    C slope = 0;
    if (j < keys) {
      C weight = std::exp(p.score(dot<T>(q, p.k.row(b, j, g), p.e, p.k.column), b, h, i, j) - log_sum);
      slope = weight * (dot<T>(grad, p.v.row(b, j, g), p.f, p.v.column) - product);
    }
    slopes[threadIdx.x] = slope;
    __syncthreads();
    int64_t in_tile = keys - first < kTile ? keys - first : kTile;
    for (int c = 0; c < kColumns; c++) {
      int64_t column = threadIdx.x + int64_t{c} * kThreads;
      if (column >= p.e) break;
      for (int64_t t = 0; t < in_tile; t++)
        sums[c] += slopes[t] * load<T>(p.k.row(b, first + t, g)[column * p.k.column]);
    }
  }
  for (int c = 0; c < kColumns; c++) {
    int64_t column = threadIdx.x + int64_t{c} * kThreads;
    if (column < p.e) p.dq.row(b, i, h)[column * p.dq.column] = store<T>(p.scale * sums[c]);
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads) attention_dkv_kernel(Problem<T> p) {
  using C = compute_t<T>;
  TW_SHARED(C, key, kMostColumns);
  TW_SHARED(C, value, kMostColumns);
  TW_SHARED(C, weights, kTile);
  TW_SHARED(C, slopes, kTile);
  int64_t j = blockIdx.x % p.keys, g = blockIdx.x / p.keys % p.groups, b = blockIdx.x / p.keys / p.groups;
  int64_t share = p.heads / p.groups, begin = p.causal ? j : 0;
  read_row<T>(key, p.k.row(b, j, g), p.e, p.k.column);
  read_row<T>(value, p.v.row(b, j, g), p.f, p.v.column);
  C dk[kColumns] = {}, dv[kColumns] = {};
  for (int64_t h = g * share; h < (g + 1) * share; h++) {
    for (int64_t first = begin; first < p.queries; first += kTile) {
      int64_t i = first + threadIdx.x;
      __syncthreads();
      C weight = 0, slope = 0;
      if (i < p.queries) {
        C log_sum = p.log_sums[p.log_sum_place(b, h) + i];
        weight = std::exp(p.score(dot<T>(key, p.q.row(b, i, h), p.e, p.q.column), b, h, i, j) - log_sum);
        slope = weight * (dot<T>(value, p.grad.row(b, i, h), p.f, p.grad.column) - row_product(p, b, i, h));
      }
      weights[threadIdx.x] = weight;
      slopes[threadIdx.x] = slope;
      __syncthreads();
      int64_t in_tile = p.queries - first < kTile ? p.queries - first : kTile;
      for (int c = 0; c < kColumns; c++) {
        int64_t column = threadIdx.x + int64_t{c} * kThreads;
        for (int64_t t = 0; t < in_tile; t++) {
          if (column < p.e) dk[c] += slopes[t] * load<T>(p.q.row(b, first + t, h)[column * p.q.column]);
          if (column < p.f)
            dv[c] += weights[t] * load<T>(p.grad.row(b, first + t, h)[column * p.grad.column]);
        }
      }
    }
  }
  for (int c = 0; c < kColumns; c++) {
    int64_t column = threadIdx.x + int64_t{c} * kThreads;
    if (column < p.e) p.dk.row(b, j, g)[column * p.dk.column] = store<T>(p.scale * dk[c]);
    if (column < p.f) p.dv.row(b, j, g)[column * p.dv.column] = store<T>(dv[c]);
  }
}

template <class T>
void check_columns(const char* op, const Problem<T>& p) {
  TW_CHECK(p.e <= kMostColumns && p.f <= kMostColumns, kNotImplemented, op, ": heads of up to ", kMostColumns,
           " columns are supported on CUDA, got ", p.e, " and ", p.f);
}

// How many blocks the positions of one side take.
inline unsigned blocks_of(int64_t batches, int64_t heads, int64_t positions) {
  return static_cast<unsigned>(batches * heads * positions);
}

template <class T>
void forward(const char* op, const Problem<T>& p) {
  check_columns(op, p);
  launch(op, attention_forward_kernel<T>, {blocks_of(p.batches, p.heads, p.queries), kThreads}, p);
}

template <class T>
void backward(const char* op, const Problem<T>& p) {
  check_columns(op, p);
  launch(op, attention_dq_kernel<T>, {blocks_of(p.batches, p.heads, p.queries), kThreads}, p);
  launch(op, attention_dkv_kernel<T>, {blocks_of(p.batches, p.groups, p.keys), kThreads}, p);
}

}  // namespace attention_rows

}  // namespace tw::cuda
