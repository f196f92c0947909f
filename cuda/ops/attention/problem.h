// What the kernels of attention are given: where heads lie, who sees whom.
#pragma once

#include <cmath>
#include <limits>

#include "cuda/common/element.h"
#include "device/kernel.h"
#include "ops/attention/attention.h"

namespace tw::cuda {

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
  TW_DEVICE int64_t place(int64_t b, int64_t h, int64_t i, int64_t j) const {
    return b * batch + h * head + i * row + j * column;
  }
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

  static constexpr C kLowest = -std::numeric_limits<C>::infinity();

  // scale q·k + mask of a pair, -inf where it is not seen.
  TW_DEVICE C score(C dot, int64_t b, int64_t h, int64_t i, int64_t j) const {
    if (causal && j > i) return kLowest;
    return mask.data ? masked(scale * dot, mask.place(b, h, i, j)) : scale * dot;
  }
  // A score with the mask's element at `place`.
  TW_DEVICE C masked(C value, int64_t place) const {
    if (mask.seen) return static_cast<const uint8_t*>(mask.data)[place] ? value : kLowest;
    return value + load<T>(static_cast<const stored_t<T>*>(mask.data)[place]);
  }
  // Where the log_sums of a head begin.
  TW_DEVICE int64_t log_sum_place(int64_t b, int64_t h) const { return (b * heads + h) * queries; }
  // How many keys the queries before `end` see.
  TW_DEVICE int64_t seen_keys(int64_t end) const { return causal && end < keys ? end : keys; }
};

template <class T>
Heads<T> heads_of(const device::Operand& x) {
  return {x.as<stored_t<T>>(), x.stride(0), x.stride(1), x.stride(2), x.stride(3)};
}

inline Mask mask_of_operand(const device::Operand& x, int64_t batches, int64_t heads, int64_t rows,
                            int64_t columns) {
  if (!x.present()) return {nullptr, false, 0, 0, 0, 0};
  int64_t full[] = {batches, heads, rows, columns}, strides[4] = {};
  for (int64_t d = 0; d < x.rank(); d++) {
    int64_t at = 4 - x.rank() + d;
    strides[at] = x.size(d) == full[at] && x.size(d) != 1 ? x.stride(d) : 0;
  }
  return {x.data, is_bool(x.dtype), strides[0], strides[1], strides[2], strides[3]};
}

// The sizes, what says who sees whom, and where q, k and v lie.
template <class T>
Problem<T> problem_of(const ops::AttentionAttrs& attributes, const device::Operand& q,
                      const device::Operand& key, const device::Operand& value, const device::Operand& mask) {
  Problem<T> p{};
  p.batches = q.size(0), p.queries = q.size(1), p.heads = q.size(2), p.e = q.size(3);
  p.keys = key.size(1), p.groups = key.size(2), p.f = value.size(3);
  p.scale = static_cast<compute_t<T>>(attributes.scale);
  p.causal = attributes.is_causal;
  p.mask = mask_of_operand(mask, p.batches, p.heads, p.queries, p.keys);
  p.q = heads_of<T>(q), p.k = heads_of<T>(key), p.v = heads_of<T>(value);
  return p;
}

}  // namespace tw::cuda
