// Tiles of kQueries rows by kKeys columns: scores, softmax in place with a running maximum, and the product
// with the values (head_products_cpu.h); nothing beyond a tile of weights is kept. With is_causal, tiles
// above the diagonal are never touched. Forward, (batch, head, row tile) are shared among threads; backward,
// (batch, group), since a key's gradient sums over rows. Floor: 2 (backward 5) matrix products of B·H·L·S·E
// over the machine's peak, half with is_causal.
#include "ops/attention/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "device/cpu/math.h"
#include "device/cpu/parallel.h"
#include "ops/attention/head_products_cpu.h"

namespace tw::ops {

using namespace device;

namespace {

constexpr int64_t kQueries = 64, kKeys = 512;
constexpr int kLanes = 16;

// The largest of n numbers; -inf for none. NaN is kept by the sums that follow.
template <class T>
TW_CLONES T row_max(const T* x, int64_t n) {
  T lanes[kLanes];
  for (T& lane : lanes) lane = -std::numeric_limits<T>::infinity();
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int j = 0; j < kLanes; j++) lanes[j] = x[i + j] > lanes[j] ? x[i + j] : lanes[j];
  T largest = lanes[0];
  for (T lane : lanes) largest = lane > largest ? lane : largest;
  for (; i < n; i++) largest = x[i] > largest ? x[i] : largest;
  return largest;
}

// x[i] = exp(x[i] - shift), where shift is not below any x[i]; returns their sum.
template <class T>
TW_CLONES T row_exp(T* x, int64_t n, T shift) {
  T lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int j = 0; j < kLanes; j++) {
      T e = math::exp_nonpositive(x[i + j] - shift);
      x[i + j] = e;
      lanes[j] += e;
    }
  T sum = 0;
  for (; i < n; i++) sum += x[i] = math::exp_nonpositive(x[i] - shift);
  for (T lane : lanes) sum += lane;
  return sum;
}

// p[i] = scale · p[i] (t[i] - delta)
template <class T>
TW_CLONES void row_score_grad(T* p, const T* t, int64_t n, T delta, T scale) {
  for (int64_t i = 0; i < n; i++) p[i] = scale * p[i] * (t[i] - delta);
}

template <class T>
TW_CLONES T row_dot(const T* a, const T* b, int64_t n) {
  T lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int j = 0; j < kLanes; j++) lanes[j] += a[i + j] * b[i + j];
  T sum = 0;
  for (; i < n; i++) sum += a[i] * b[i];
  for (T lane : lanes) sum += lane;
  return sum;
}

template <class T>
TW_CLONES void row_scale(T* x, int64_t n, T factor) {
  for (int64_t i = 0; i < n; i++) x[i] *= factor;
}

// The mask's strides over [B, H, L, S]; 0 where it broadcasts.
struct Mask {
  const Operand* operand = nullptr;
  int64_t strides[4] = {};

  explicit Mask(const Operand& o) {
    if (!o.present()) return;
    operand = &o;
    for (int64_t i = 0; i < o.rank(); i++) strides[4 - o.rank() + i] = o.size(i) == 1 ? 0 : o.stride(i);
  }
  template <class T, class M>
  void add_row(T* x, int64_t at, int64_t n) const {
    const auto* mask = operand->as<stored_t<M>>() + at;
    for (int64_t j = 0; j < n; j++) {
      auto value = load<M>(mask[j * strides[3]]);
      if constexpr (std::is_same_v<M, bool>)
        x[j] = value ? x[j] : -std::numeric_limits<T>::infinity();
      else
        x[j] += static_cast<T>(value);
    }
  }
  // x: scores of row `row` from column `column` on.
  template <class T>
  void apply(T* x, int64_t batch, int64_t head, int64_t row, int64_t column, int64_t n) const {
    if (!operand) return;
    int64_t at = batch * strides[0] + head * strides[1] + row * strides[2] + column * strides[3];
    switch (operand->dtype) {
      case DType::kBool:
        return add_row<T, bool>(x, at, n);
      case DType::kFloat16:
        return add_row<T, float16>(x, at, n);
      case DType::kBFloat16:
        return add_row<T, bfloat16>(x, at, n);
      default:
        return add_row<T, T>(x, at, n);
    }
  }
};

template <class T>
struct Problem {
  const Heads<T>&q, &k, &v;
  Mask mask;
  T scale;
  bool causal;
  int64_t batches, heads, groups;

  int64_t group_of(int64_t head) const { return head / (heads / groups); }
  // Columns that rows before `row_end` see.
  int64_t seen(int64_t row_end) const { return causal ? std::min(row_end, k.length) : k.length; }
  // Of a tile's columns from `column` on, how many row `row` sees.
  int64_t seen_in_tile(int64_t row, int64_t column, int64_t count) const {
    return causal ? std::clamp<int64_t>(row + 1 - column, 0, count) : count;
  }
};

// One tile of rows of one head.
template <class T>
void forward_tile(const Problem<T>& p, HeadProducts<T>& products, int64_t b, int64_t h, int64_t first,
                  Heads<T>& out, T* lse, T* tile) {
  int64_t rows = std::min(kQueries, p.q.length - first), group = p.group_of(h), end = p.seen(first + rows);
  products.begin_head(b, group);
  T maxima[kQueries], sums[kQueries];
  for (int64_t i = 0; i < rows; i++) {
    maxima[i] = -std::numeric_limits<T>::infinity();
    sums[i] = 0;
    std::fill_n(out.row(b, h, first + i), out.size, T(0));
  }
  for (int64_t column = 0; column < end; column += kKeys) {
    int64_t columns = std::min(kKeys, end - column);
    WeightTile at{b, h, group, first, rows, column, columns};
    products.with_keys(at, p.q, p.scale, tile);
    for (int64_t i = 0; i < rows; i++) {
      T* x = tile + i * columns;
      int64_t n = p.seen_in_tile(first + i, column, columns);
      p.mask.apply(x, b, h, first + i, column, n);
      T largest = std::max(maxima[i], row_max(x, n));
      bool nothing = largest == -std::numeric_limits<T>::infinity();
      T sum = row_exp(x, n, nothing ? T(0) : largest);
      std::fill(x + n, x + columns, T(0));
      T shrink = nothing ? T(1) : math::exp(maxima[i] - largest);
      if (column > 0 && shrink != T(1)) row_scale(out.row(b, h, first + i), out.size, shrink);
      sums[i] = sums[i] * shrink + sum;
      maxima[i] = largest;
    }
    products.weigh(at, tile, p.v, out);
  }
  for (int64_t i = 0; i < rows; i++) {
    bool nothing = sums[i] == T(0);  // no column seen: zeros, and weights of 0 again in backward
    lse[first + i] = nothing ? std::numeric_limits<T>::infinity() : maxima[i] + std::log(sums[i]);
    if (!nothing) row_scale(out.row(b, h, first + i), out.size, T(1) / sums[i]);
  }
}

template <class T>
void forward(KernelContext& k) {
  const auto& a = k.attrs<AttentionAttrs>();
  Heads<T> query(k.in(0)), key(k.in(1)), value(k.in(2));
  Problem<T> p{query,
               key,
               value,
               Mask(k.in(3)),
               static_cast<T>(a.scale),
               a.is_causal,
               k.in(0).size(0),
               k.in(0).size(2),
               k.in(1).size(2)};
  ConvertedResult<T> result(k.out(0));
  Heads<T> out(result.data(), *k.out(0).sizes);
  T* lse = k.out(1).as<T>();
  int64_t tiles = (query.length + kQueries - 1) / kQueries;
  parallel_for(0, p.batches * p.heads * tiles, 1, [&](int64_t from, int64_t to) {
    Scratch tile(static_cast<size_t>(kQueries * std::min(kKeys, key.length)) * sizeof(T));
    HeadProducts<T> products(key, value, p.causal, query.length, false);
    for (int64_t i = from; i < to; i++) {
      int64_t head = i / tiles;
      forward_tile<T>(p, products, head / p.heads, head % p.heads, i % tiles * kQueries, out,
                      lse + head * query.length, tile.as<T>());
    }
  });
  result.finish();
}

template <class T>
struct Gradients {
  Heads<T>&q, &k, &v;
};

template <class T>
struct BackwardTiles {
  T *weights, *products;  // P (then its gradient) and dO Vᵀ
};

// Adds one tile of rows of one head to the gradients.
template <class T>
void backward_tile(const Problem<T>& p, HeadProducts<T>& products, const Heads<T>& grad, const Heads<T>& out,
                   const T* lse, int64_t b, int64_t h, int64_t first, Gradients<T>& to,
                   BackwardTiles<T> tiles) {
  int64_t rows = std::min(kQueries, p.q.length - first), group = p.group_of(h), end = p.seen(first + rows);
  products.begin_head(b, group);
  T deltas[kQueries];
  for (int64_t i = 0; i < rows; i++)
    deltas[i] = row_dot(grad.row(b, h, first + i), out.row(b, h, first + i), out.size);
  for (int64_t column = 0; column < end; column += kKeys) {
    int64_t columns = std::min(kKeys, end - column);
    T *x = tiles.weights, *t = tiles.products;
    WeightTile at{b, h, group, first, rows, column, columns};
    products.with_keys(at, p.q, p.scale, x);
    for (int64_t i = 0; i < rows; i++) {
      int64_t n = p.seen_in_tile(first + i, column, columns);
      p.mask.apply(x + i * columns, b, h, first + i, column, n);
      row_exp(x + i * columns, n, lse[first + i]);
      std::fill(x + i * columns + n, x + (i + 1) * columns, T(0));
    }
    products.weigh_turned(at, x, grad, to.v);
    products.with_values(at, grad, t);
    for (int64_t i = 0; i < rows; i++)
      row_score_grad(x + i * columns, t + i * columns, p.seen_in_tile(first + i, column, columns), deltas[i],
                     p.scale);
    products.weigh(at, x, p.k, to.q);
    products.weigh_turned(at, x, p.q, to.k);
  }
}

template <class T>
void backward(KernelContext& k) {
  const auto& a = k.attrs<AttentionAttrs>();
  Heads<T> grad(k.in(0)), query(k.in(1)), key(k.in(2)), value(k.in(3)), out(k.in(5));
  Problem<T> p{query,
               key,
               value,
               Mask(k.in(4)),
               static_cast<T>(a.scale),
               a.is_causal,
               k.in(1).size(0),
               k.in(1).size(2),
               k.in(2).size(2)};
  Contiguous<T> lse(k.in(6));
  ConvertedResult<T> results[] = {ConvertedResult<T>(k.out(0)), ConvertedResult<T>(k.out(1)),
                                  ConvertedResult<T>(k.out(2))};
  Heads<T> to_q(results[0].data(), *k.out(0).sizes), to_k(results[1].data(), *k.out(1).sizes);
  Heads<T> to_v(results[2].data(), *k.out(2).sizes);
  Gradients<T> to{to_q, to_k, to_v};
  for (int i = 0; i < 3; i++) std::fill_n(results[i].data(), k.out(i).count(), T(0));
  parallel_for(0, p.batches * p.groups, 1, [&](int64_t from, int64_t last) {
    auto tile_bytes = static_cast<size_t>(kQueries * std::min(kKeys, key.length)) * sizeof(T);
    Scratch weights(tile_bytes), gradients(tile_bytes);
    HeadProducts<T> products(key, value, p.causal, query.length, true);
    for (int64_t i = from; i < last; i++) {
      int64_t batch = i / p.groups, share = p.heads / p.groups, head = i % p.groups * share;
      for (int64_t h = head; h < head + share; h++)
        for (int64_t first = 0; first < query.length; first += kQueries)
          backward_tile<T>(p, products, grad, out, lse.data() + (batch * p.heads + h) * query.length, batch,
                           h, first, to, {weights.as<T>(), gradients.as<T>()});
    }
  });
  for (auto& result : results) result.finish();
}

void attention_kernel(KernelContext& k) {
  if (k.out(0).dtype == DType::kFloat64)
    forward<double>(k);
  else
    forward<float>(k);
}

void attention_backward_kernel(KernelContext& k) {
  if (k.out(0).dtype == DType::kFloat64)
    backward<double>(k);
  else
    backward<float>(k);
}

}  // namespace

void kernels_attention(KernelTable& table) {
  table.add("attention", attention_kernel);
  table.add("attention_backward", attention_backward_kernel);
}

}  // namespace tw::ops
