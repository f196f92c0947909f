// Kernels that work on one dim of each row: where rows lie, and who works on them. A warp has a row of up to
// kWarpRow elements, the block a longer one.
#pragma once

#include <array>
#include <cmath>
#include <limits>

#include "cuda/common/row_values.h"

namespace tw::cuda {

// Rows of several operands of one shape, along one dim.
template <int kOperands>
struct Rows {
  int64_t count, length;
  char* data[kOperands];
  int64_t steps[kOperands];  // bytes along the dim
  ReduceShape shapes[kOperands];

  // The operands' rows number `row`.
  TW_DEVICE void at(int64_t row, char* (&rows)[kOperands]) const {
    for (int o = 0; o < kOperands; o++) {
      int64_t in = 0, out = 0;
      shapes[o].output(row, &in, &out);
      rows[o] = data[o] + in;
    }
  }
};

template <size_t kOperands>
Rows<static_cast<int>(kOperands)> make_rows(std::array<const device::Operand*, kOperands> operands,
                                            int64_t dim, const char* op) {
  Rows<static_cast<int>(kOperands)> rows;
  for (size_t o = 0; o < kOperands; o++) {
    const device::Operand& operand = *operands[o];
    rows.data[o] = static_cast<char*>(operand.data);
    rows.steps[o] = operand.rank() == 0 ? 0 : operand.stride(dim) * size_of(operand.dtype);
    // In the order of dims, so that all operands number their rows alike.
    ReduceShape& shape = rows.shapes[o];
    shape = row_shape(operand, dim, op);
    rows.count = shape.outputs;
    rows.length = shape.reduced;
  }
  return rows;
}

// Element i of a row.
template <class T>
TW_DEVICE compute_t<T> value_at(const char* row, int64_t step, int64_t i) {
  return load<T>(*reinterpret_cast<const stored_t<T>*>(row + i * step));
}
template <class T, class C>
TW_DEVICE void put_at(char* row, int64_t step, int64_t i, C value) {
  *reinterpret_cast<stored_t<T>*>(row + i * step) = store<T>(value);
}

// A running maximum, and the sum of exponentials of what was met less it.
template <class C>
struct LogSum {
  static constexpr C kLowest = -std::numeric_limits<C>::infinity();
  C most = kLowest, sum = 0;

  TW_DEVICE void add(C x) {
    if (x > most) {
      sum = sum * std::exp(most - x) + C(1);
      most = x;
    } else if (x != kLowest) {
      sum += std::exp(x - most);
    }
  }
  // That of all threads of a group, in each of them.
  template <int kGroup>
  TW_DEVICE LogSum of_group() const {
    LogSum whole;
    whole.most = group_reduce<kGroup>(most, kLowest, Larger());
    whole.sum = group_reduce<kGroup>(sum == C(0) ? C(0) : sum * std::exp(most - whole.most), C(0), Plus());
    return whole;
  }
};

// The rows' kernels by warps where rows are short, by blocks where they are long.
template <int kOperands, class... Args>
void launch_on_rows(const char* op, const Rows<kOperands>& rows, void (*by_warps)(Rows<kOperands>, Args...),
                    void (*by_blocks)(Rows<kOperands>, Args...), Args... args) {
  bool warps = rows.length <= kWarpRow;
  int64_t a_block = warps ? kReduceWarps : 1;
  launch(op, warps ? by_warps : by_blocks,
         {static_cast<unsigned>((rows.count + a_block - 1) / a_block), kReduceThreads}, rows, args...);
}

}  // namespace tw::cuda
