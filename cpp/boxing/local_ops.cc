#include "boxing/local_ops.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>

#include "base/error.h"
#include "comm/reduce.h"
#include "device/backend.h"
#include "device/cpu/cast.h"
#include "device/cpu/scratch.h"

namespace tw::boxing {

namespace {

char* address(const View& view, DType dtype, void* const* slots) {
  return static_cast<char*>(slots[view.slot]) + view.offset * size_of(dtype);
}

void copy(void* to, const View& to_view, void* from, const View& from_view, const LocalOp& op, DType dtype) {
  if (!to_view.dense || !from_view.dense)
    return device::copy_cast({to, &op.sizes, &to_view.strides, dtype},
                             {from, &op.sizes, &from_view.strides, dtype});
  device::Backend& cpu = device::cpu_backend();
  cpu.copy(to, from, static_cast<size_t>(op.count * size_of(dtype)), cpu.current_stream(0));
}

template <class T>
T neutral_of(sbp::ReduceOp op) {
  if (op == sbp::ReduceOp::kSum) return T();
  if constexpr (is_complex_type<T>) {
    TW_FAIL(kNotImplemented, "boxing: complex numbers have no order: there is no P(max) or P(min) of ",
            dtype_of<T>);
  } else {
    using Limits = std::numeric_limits<std::conditional_t<is_half_type<T>, float, T>>;
    bool largest = op == sbp::ReduceOp::kMin;
    if constexpr (is_float_type<T>) return static_cast<T>(largest ? Limits::infinity() : -Limits::infinity());
    return static_cast<T>(largest ? Limits::max() : Limits::lowest());
  }
}

void fill(const LocalOp& op, DType dtype, void* const* slots) {
  dispatch_all(dtype, "boxing", [&]<class T>() {
    T value = neutral_of<T>(op.neutral);
    if (op.to.dense) {
      std::fill_n(reinterpret_cast<T*>(address(op.to, dtype, slots)), op.count, value);
      return;
    }
    Dims still(op.sizes.size());
    device::copy_cast({address(op.to, dtype, slots), &op.sizes, &op.to.strides, dtype},
                      {&value, &op.sizes, &still, dtype});
  });
}

// inputs[i] folded, level by level from the innermost, which only the outermost leaves in `output`.
void fold_dense(void* output, std::span<const void* const> inputs, std::span<const sbp::Fold> folds,
                int64_t count, DType dtype) {
  const sbp::Fold& outer = folds[0];
  if (folds.size() == 1) return comm::reduce(dtype, reduction_of(outer.op), output, inputs, count);
  size_t inner = inputs.size() / outer.count;
  SmallVector<device::Scratch, 4> folded;
  SmallVector<const void*, 8> next;
  for (int64_t i = 0; i < outer.count; i++) {
    folded.emplace_back(static_cast<size_t>(count * size_of(dtype)));
    fold_dense(folded.back().get(), inputs.subspan(i * inner, inner), folds.subspan(1), count, dtype);
    next.push_back(folded.back().get());
  }
  comm::reduce(dtype, reduction_of(outer.op), output, {next.data(), next.size()}, count);
}

void fold(const LocalOp& op, DType dtype, void* const* slots) {
  size_t bytes = static_cast<size_t>(op.count * size_of(dtype));
  SmallVector<device::Scratch, 4> packed;
  SmallVector<const void*, 8> inputs;
  View dense{0, 0, contiguous_strides(op.sizes), true};
  for (const View& view : op.from) {
    char* from = address(view, dtype, slots);
    if (!view.dense) {
      packed.emplace_back(bytes);
      copy(packed.back().get(), dense, from, view, op, dtype);
      from = packed.back().as<char>();
    }
    inputs.push_back(from);
  }
  char* to = address(op.to, dtype, slots);
  device::Scratch result;
  if (!op.to.dense) result = device::Scratch(bytes);
  fold_dense(op.to.dense ? to : result.get(), {inputs.data(), inputs.size()},
             {op.folds.data(), op.folds.size()}, op.count, dtype);
  if (!op.to.dense) copy(to, op.to, result.get(), dense, op, dtype);
}

}  // namespace

std::array<char, 16> neutral_element(sbp::ReduceOp op, DType dtype) {
  std::array<char, 16> bytes{};
  dispatch_all(dtype, "boxing", [&]<class T>() {
    T value = neutral_of<T>(op);
    std::memcpy(bytes.data(), &value, sizeof(T));
  });
  return bytes;
}

void run_local(const LocalOp& op, DType dtype, void* const* slots) {
  if (op.from.empty()) return fill(op, dtype, slots);
  if (op.from.size() > 1) return fold(op, dtype, slots);
  copy(address(op.to, dtype, slots), op.to, address(op.from[0], dtype, slots), op.from[0], op, dtype);
}

}  // namespace tw::boxing
