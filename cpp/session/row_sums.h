// Sums over rows that arrive some at a time, in the order in which the kernels of `sum` and
// `layer_norm_backward` add them, so that the last bit is theirs (device/cpu/reduce.h, layer_norm_cpu.cc;
// tests/python/jit/test_fusion.py compares).
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "device/cpu/clones.h"
#include "device/cpu/scratch.h"

namespace tw::session {

namespace {  // as TW_CLONES wants

template <class T>
TW_CLONES void add_to(T* to, const T* from, int64_t n) {
#pragma GCC ivdep
  for (int64_t j = 0; j < n; j++) to[j] += from[j];
}

}  // namespace

// How rows are grouped: blocks are summed by themselves, then together.
struct RowSumOrder {
  int64_t rows, columns;
  int64_t block;       // rows in a block; a power of two
  int64_t fold = 1;    // rows that are added side by side in a block
  bool pairs = false;  // blocks are combined as a binary counter does, else one after the other

  static RowSumOrder of_sum(int64_t rows, int64_t columns) {
    constexpr int64_t kRowsPerBlock = 256, kTile = 1024;
    RowSumOrder order{rows, columns, kRowsPerBlock, 1, true};
    while (2 * order.fold * columns <= kTile && 2 * order.fold <= rows) order.fold *= 2;
    order.block *= order.fold;
    return order;
  }
  static RowSumOrder of_norm(int64_t rows, int64_t columns) {
    return {
        rows, columns,
        static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(8, (rows + 63) / 64)))), 1,
        false};
  }
  int64_t blocks() const { return (rows + block - 1) / block; }
};

template <class T>
class RowSum {
 public:
  explicit RowSum(const RowSumOrder& order)
      : order_(order), memory_(static_cast<size_t>(order.blocks() * width()) * sizeof(T)) {
    std::fill_n(memory_.as<T>(), order.blocks() * width(), T(0));
  }

  // Row `row`, or what several rows of one block were summed to. Blocks may be added to at the same time.
  void add(int64_t row, const T* values) {
    T* sum = memory_.as<T>() + row / order_.block * width() + row % order_.fold * order_.columns;
    add_to(sum, values, order_.columns);
  }

  void finish(T* out) {
    std::vector<T*> levels;  // of a binary counter; null where its digit is 0
    for (int64_t b = 0; b < order_.blocks(); b++) {
      T* sum = memory_.as<T>() + b * width();
      for (int64_t half = width() / 2; half >= order_.columns; half /= 2) add_to(sum, sum + half, half);
      if (order_.pairs) count_up(&levels, sum);
    }
    if (!order_.pairs) {
      std::fill_n(out, order_.columns, T(0));
      for (int64_t b = 0; b < order_.blocks(); b++)
        add_to(out, memory_.as<T>() + b * width(), order_.columns);
      return;
    }
    T* total = nullptr;
    for (T* level : levels) {
      if (level && total) add_to(level, total, order_.columns);
      if (level) total = level;
    }
    std::copy_n(total, order_.columns, out);
  }

 private:
  int64_t width() const { return order_.fold * order_.columns; }
  void count_up(std::vector<T*>* levels, T* sum) {
    size_t level = 0;
    for (; level < levels->size() && (*levels)[level]; level++) {
      add_to((*levels)[level], sum, order_.columns);
      sum = std::exchange((*levels)[level], nullptr);
    }
    if (level == levels->size()) levels->push_back(nullptr);
    (*levels)[level] = sum;
  }

  RowSumOrder order_;
  device::Scratch memory_;
};

}  // namespace tw::session
