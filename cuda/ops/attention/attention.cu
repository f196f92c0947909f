// attention and its gradient in any floating dtype, sums in float (double for double): the fallback without
// tensor cores.
//
// A block has one row: forward and dq a query's, dk and dv a key's. It takes the other side in tiles of
// kTile: each thread makes weights of the tile, then each has columns of the result. Nothing of size L x S is
// stored. Flops: 2 (E + F) a pair of positions forward, 5 (E + F) backward. Each row reads all of the other
// side, from the cache where that fits: far from the floor, which is q, k, v and the result once over the
// bandwidth, or the flops over the peak.
#include "ops/attention/attention.h"

#include <cmath>
#include <limits>

#include "cuda/common/element.h"
#include "cuda/common/launch.h"
#include "cuda/common/row_values.h"
#include "cuda/common/warp.h"

namespace tw::cuda {

using device::KernelContext;
using device::Operand;

namespace {

constexpr int kThreads = block_threads(128);
constexpr int kTile = kThreads;    // the other side's positions, one a thread
constexpr int kMostColumns = 256;  // of a head
constexpr int kColumns = kMostColumns / kThreads > 0 ? kMostColumns / kThreads : 1;  // of a thread, at most

// [B, positions, heads, columns] anywhere in memory; strides in elements.
template <class T>
struct Heads {
  stored_t<T>* data;
  int64_t batch, position, head, column;
  TW_DEVICE stored_t<T>* row(int64_t b, int64_t i, int64_t h) const {
    return data + b * batch + i * position + h * head;
  }
};

struct Mask {
  const void* data;  // null: none
  bool seen;         // bytes that say what is seen, else numbers of the dtype that are added
  int64_t batch, head, row, column;
};

template <class T>
struct Problem {
  using C = compute_t<T>;
  int64_t batches, heads, groups, queries, keys, e, f;
  C scale;
  bool causal;
  Mask mask;
  Heads<T> q, k, v, result, grad, dq, dk, dv;
  C* log_sums;  // [B, H, L]

  // scale q·k + mask of a pair, -inf where it is not seen.
  TW_DEVICE C score(C dot, int64_t b, int64_t h, int64_t i, int64_t j) const {
    constexpr C kLowest = -std::numeric_limits<C>::infinity();
    if (causal && j > i) return kLowest;
    C value = scale * dot;
    if (!mask.data) return value;
    int64_t at = b * mask.batch + h * mask.head + i * mask.row + j * mask.column;
    if (mask.seen) return static_cast<const uint8_t*>(mask.data)[at] ? value : kLowest;
    return value + load<T>(static_cast<const stored_t<T>*>(mask.data)[at]);
  }
};

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
  int64_t g = h / (p.heads / p.groups), keys = p.causal && i + 1 < p.keys ? i + 1 : p.keys;
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
      p.result.row(b, i, h)[column * p.result.column] = store<T>(total > C(0) ? sums[c] / total : C(0));
  }
  if (threadIdx.x == 0)
    p.log_sums[(b * p.heads + h) * p.queries + i] =
        total > C(0) ? most + std::log(total) : std::numeric_limits<C>::infinity();
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
  int64_t g = h / (p.heads / p.groups), keys = p.causal && i + 1 < p.keys ? i + 1 : p.keys;
  read_row<T>(q, p.q.row(b, i, h), p.e, p.q.column);
  read_row<T>(grad, p.grad.row(b, i, h), p.f, p.grad.column);
  C log_sum = p.log_sums[(b * p.heads + h) * p.queries + i], product = row_product(p, b, i, h),
    sums[kColumns] = {};
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
        C log_sum = p.log_sums[(b * p.heads + h) * p.queries + i];
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
Heads<T> heads_of(const Operand& x) {
  return {x.as<stored_t<T>>(), x.stride(0), x.stride(1), x.stride(2), x.stride(3)};
}

Mask mask_of_operand(const Operand& x, int64_t batches, int64_t heads, int64_t rows, int64_t columns) {
  if (!x.present()) return {nullptr, false, 0, 0, 0, 0};
  int64_t full[] = {batches, heads, rows, columns}, strides[4] = {};
  for (int64_t d = 0; d < x.rank(); d++) {
    int64_t at = 4 - x.rank() + d;
    strides[at] = x.size(d) == full[at] && x.size(d) != 1 ? x.stride(d) : 0;
  }
  return {x.data, is_bool(x.dtype), strides[0], strides[1], strides[2], strides[3]};
}

template <class T>
Problem<T> problem_of(KernelContext& k, const Operand& q, const Operand& key, const Operand& value,
                      const Operand& mask) {
  const auto& a = k.attrs<ops::AttentionAttrs>();
  Problem<T> p{};
  p.batches = q.size(0), p.queries = q.size(1), p.heads = q.size(2), p.e = q.size(3);
  p.keys = key.size(1), p.groups = key.size(2), p.f = value.size(3);
  TW_CHECK(p.e <= kMostColumns && p.f <= kMostColumns, kNotImplemented, k.op, ": heads of up to ",
           kMostColumns, " columns are supported on CUDA, got ", p.e, " and ", p.f);
  p.scale = static_cast<compute_t<T>>(a.scale);
  p.causal = a.is_causal;
  p.mask = mask_of_operand(mask, p.batches, p.heads, p.queries, p.keys);
  p.q = heads_of<T>(q), p.k = heads_of<T>(key), p.v = heads_of<T>(value);
  return p;
}

void attention_kernel(KernelContext& k) {
  dispatch_float(k.out().dtype, k.op, [&]<class T>() {
    Problem<T> p = problem_of<T>(k, k.in(0), k.in(1), k.in(2), k.in(3));
    p.result = heads_of<T>(k.out(0));
    p.log_sums = k.out(1).as<compute_t<T>>();
    launch(k.op, attention_forward_kernel<T>,
           {static_cast<unsigned>(p.batches * p.heads * p.queries), kThreads}, p);
  });
}

void attention_backward_kernel(KernelContext& k) {
  dispatch_float(k.in(1).dtype, k.op, [&]<class T>() {
    Problem<T> p = problem_of<T>(k, k.in(1), k.in(2), k.in(3), k.in(4));
    p.grad = heads_of<T>(k.in(0)), p.result = heads_of<T>(k.in(5));
    p.log_sums = k.in(6).as<compute_t<T>>();
    p.dq = heads_of<T>(k.out(0)), p.dk = heads_of<T>(k.out(1)), p.dv = heads_of<T>(k.out(2));
    launch(k.op, attention_dq_kernel<T>, {static_cast<unsigned>(p.batches * p.heads * p.queries), kThreads},
           p);
    launch(k.op, attention_dkv_kernel<T>, {static_cast<unsigned>(p.batches * p.groups * p.keys), kThreads},
           p);
  });
}

}  // namespace

void kernels_attention(device::KernelTable& table) {
  table.add("attention", attention_kernel);
  table.add("attention_backward", attention_backward_kernel);
}

}  // namespace tw::cuda
