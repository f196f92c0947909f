// The products of a tile of queries with keys and values, of one thread: by the library's gemm; or for
// floats, where the processor has AVX-512, by tiles that read queries, values and weights where they lie and
// share the transposed keys and values, which are packed once a head, and that leave out what causal
// attention does not see.
#pragma once

#include "device/cpu/gemm.h"
#include "device/cpu/scratch.h"
#include "device/cpu/vector_strips.h"
#include "ops/attention/heads_cpu.h"

namespace tw::ops {

// Rows of one head and columns of its keys: weights [rows, columns] are about these.
struct WeightTile {
  int64_t batch, head, group, first, rows, column, columns;
};

template <class T>
class HeadProducts {
  using Matrix = device::Matrix<T>;
  using Seen = device::vector::Seen;

 public:
  // `values`: whether there are products with transposed values.
  HeadProducts(const Heads<T>& keys, const Heads<T>& values, bool causal, int64_t queries, bool of_values)
      : keys_{keys}, values_{values}, causal_(causal), of_values_(of_values) {
    constexpr int64_t kFewestQueries = 16;  // that packing is worth it for
    if constexpr (std::is_same_v<T, float>)
      by_tiles_ = device::vector::has_avx512() && queries >= kFewestQueries &&
                  keys.size % device::vector::kPanel == 0 && values.size % device::vector::kPanel == 0;
  }

  // Before products of another head.
  void begin_head(int64_t batch, int64_t group) {
    if (!by_tiles_ || (batch == batch_ && group == group_)) return;
    batch_ = batch, group_ = group;
    pack(keys_);
    if (of_values_) pack(values_);
  }

  // to[rows, columns] = alpha · a kᵀ, or vᵀ; a: rows of queries, or of gradients.
  void with_keys(const WeightTile& t, const Heads<T>& a, T alpha, T* to) { scores(t, keys_, a, alpha, to); }
  void with_values(const WeightTile& t, const Heads<T>& a, T* to) { scores(t, values_, a, T(1), to); }

  // to += weights b, of the tile's rows; b: the tile's keys, or values.
  void weigh(const WeightTile& t, const T* weights, const Heads<T>& b, const Heads<T>& to) {
    add(t.rows, t.columns, b.size, {weights, t.columns, 1}, b.rows(t.batch, t.group, t.column),
        to.row(t.batch, t.head, t.first), to.step(), {Seen::kInnersUpTo, t.first - t.column});
  }
  // to += weightsᵀ b, of the tile's columns; b: the tile's rows of queries, or of gradients.
  void weigh_turned(const WeightTile& t, const T* weights, const Heads<T>& b, const Heads<T>& to) {
    add(t.columns, t.rows, b.size, {weights, 1, t.columns}, b.rows(t.batch, t.head, t.first),
        to.row(t.batch, t.group, t.column), to.step(), {Seen::kInnersFrom, t.first - t.column});
  }

 private:
  // Keys or values, and their transposes in panels: [panel][inner][kPanel].
  struct Side {
    const Heads<T>& heads;
    device::Scratch panels = {};
  };

  void scores(const WeightTile& t, const Side& side, const Heads<T>& a, T alpha, T* to) {
    Matrix left = a.rows(t.batch, t.head, t.first);
    if (!by_tiles_)
      return device::gemm<T>(t.rows, t.columns, a.size, alpha, left,
                             side.heads.columns(t.batch, t.group, t.column), T(0), to, t.columns);
    if constexpr (std::is_same_v<T, float>) {
      int64_t distance = device::vector::kPanel * a.size;  // t.column is a multiple of kPanel
      multiply({t.rows,
                t.columns,
                a.size,
                {left.data, left.row_stride, 1},
                side.panels.template as<float>() + t.column / device::vector::kPanel * distance,
                device::vector::kPanel,
                distance,
                alpha,
                to,
                t.columns,
                false},
               {Seen::kColumnsUpTo, t.first - t.column});
    }
  }

  // to[rows, columns] += weights[rows, inners] b[inners, columns].
  void add(int64_t rows, int64_t inners, int64_t columns, Matrix weights, Matrix b, T* to, int64_t step,
           Seen seen) {
    if (!by_tiles_) return device::gemm<T>(rows, columns, inners, T(1), weights, b, T(1), to, step);
    if constexpr (std::is_same_v<T, float>)
      multiply({.rows = rows,
                .columns = columns,
                .inners = inners,
                .row_side = {weights.data, weights.row_stride, weights.column_stride},
                .panels = b.data,
                .panels_step = b.row_stride,
                .panel_distance = device::vector::kPanel,
                .alpha = 1,
                .out = to,
                .out_step = step,
                .add = true},
               seen);
  }

  void multiply(const device::vector::StripProduct& product, Seen seen) const {
    device::vector::multiply_strips(product, causal_ ? seen : Seen());
  }

  void pack(Side& side) {
    if constexpr (std::is_same_v<T, float>) {
      constexpr int64_t kPanel = device::vector::kPanel;
      const Heads<T>& heads = side.heads;
      int64_t panels = (heads.length + kPanel - 1) / kPanel, floats = kPanel * heads.size;
      if (!side.panels.get())
        side.panels = device::Scratch(static_cast<size_t>(panels * floats) * sizeof(float));
      device::vector::pack_panels({heads.row(batch_, group_, 0), heads.step(), 1}, heads.length, heads.size,
                                  side.panels.template as<float>());
    }
  }

  Side keys_, values_;
  const bool causal_, of_values_;
  bool by_tiles_ = false;
  int64_t batch_ = -1, group_ = -1;
};

}  // namespace tw::ops
