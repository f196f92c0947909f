// Lists of tensors worked on together, element by element: optimizer steps, clipping. Tuple i holds the i-th
// tensor of every list; as many tuples go into one launch as its arguments hold, each cut into chunks that
// blocks take.
//
//   step_over<C>(k.op, lists, kAllButGrads, [&](int tuple) { return Rule{...}; });
//
// The rule is a struct with TW_DEVICE void operator()(C* values) const, which changes an element's value in
// each list; lists whose bit is in `written` are stored back. Bytes: every list read, the written ones
// written. Floor: these over the bandwidth.
#pragma once

#include <algorithm>
#include <span>

#include "base/memory_order.h"
#include "cuda/common/element.h"
#include "cuda/common/launch.h"
#include "device/kernel.h"

namespace tw::cuda {

inline constexpr int kListThreads = block_threads(256);
inline constexpr int64_t kListChunk = 4096;  // elements of a block

template <class C, class Rule, int kLists>
struct TupleBatch {
  static constexpr int kMost = 24;  // tuples of a launch: its arguments may be 4 KiB
  int tuples = 0;
  unsigned written = 0;
  unsigned first_block[kMost + 1] = {};
  int64_t counts[kMost];
  void* data[kMost][kLists];
  DType dtypes[kMost][kLists];
  Rule rules[kMost];
};

template <class C>
TW_DEVICE C load_as(const void* data, DType dtype, int64_t i) {
  switch (dtype) {
    case DType::kFloat16:
      return load<float16>(static_cast<const float16*>(data)[i]);
    case DType::kBFloat16:
      return load<bfloat16>(static_cast<const bfloat16*>(data)[i]);
    case DType::kFloat32:
      return static_cast<C>(static_cast<const float*>(data)[i]);
    default:
      return static_cast<C>(static_cast<const double*>(data)[i]);
  }
}

template <class C>
TW_DEVICE void store_as(void* data, DType dtype, int64_t i, C value) {
  switch (dtype) {
    case DType::kFloat16:
      static_cast<float16*>(data)[i] = store<float16>(value);
      break;
    case DType::kBFloat16:
      static_cast<bfloat16*>(data)[i] = store<bfloat16>(value);
      break;
    case DType::kFloat32:
      static_cast<float*>(data)[i] = static_cast<float>(value);
      break;
    default:
      static_cast<double*>(data)[i] = static_cast<double>(value);
  }
}

template <class C, class Rule, int kLists>
__global__ void __launch_bounds__(kListThreads) tuples_kernel(TupleBatch<C, Rule, kLists> batch) {
  int t = 0;
  while (blockIdx.x >= batch.first_block[t + 1]) t++;
  int64_t first = static_cast<int64_t>(blockIdx.x - batch.first_block[t]) * kListChunk;
  int64_t last = first + kListChunk < batch.counts[t] ? first + kListChunk : batch.counts[t];
  for (int64_t i = first + threadIdx.x; i < last; i += kListThreads) {
    C values[kLists];
    TW_UNROLL
    for (int l = 0; l < kLists; l++) values[l] = load_as<C>(batch.data[t][l], batch.dtypes[t][l], i);
    batch.rules[t](values);
    TW_UNROLL
    for (int l = 0; l < kLists; l++)
      if (batch.written >> l & 1) store_as(batch.data[t][l], batch.dtypes[t][l], i, values[l]);
  }
}

// Throws kNotImplemented unless the tensors of a tuple lie alike and without gaps.
inline void check_alike(std::span<const std::span<const device::Operand>> lists, size_t tuple,
                        const char* op) {
  const device::Operand& first = lists[0][tuple];
  bool alike = is_dense(*first.sizes, *first.strides);
  for (auto list : lists) alike = alike && same_walk(*first.sizes, *first.strides, *list[tuple].strides);
  TW_CHECK(alike, kNotImplemented, op,
           ": tensors whose memory has gaps or another order than their parameter's are not ",
           "supported on CUDA; the parameter has shape ", *first.sizes, " and strides ", *first.strides);
}

// float64 where some tensor has that dtype, else float32.
inline DType widest_of(std::span<const std::span<const device::Operand>> lists) {
  for (auto list : lists)
    for (const device::Operand& operand : list)
      if (operand.dtype == DType::kFloat64) return DType::kFloat64;
  return DType::kFloat32;
}

template <class C, int kLists, class MakeRule>
void step_over(const char* op, const std::span<const device::Operand> (&lists)[kLists], unsigned written,
               const MakeRule& make_rule) {
  using Rule = decltype(make_rule(0));
  using Batch = TupleBatch<C, Rule, kLists>;
  Batch batch;
  batch.written = written;
  auto flush = [&] {
    launch(op, tuples_kernel<C, Rule, kLists>, {batch.first_block[batch.tuples], kListThreads}, batch);
    batch.tuples = 0;
  };
  for (size_t t = 0; t < lists[0].size(); t++) {
    check_alike(lists, t, op);
    int at = batch.tuples++;
    batch.counts[at] = lists[0][t].count();
    batch.rules[at] = make_rule(static_cast<int>(t));
    for (int l = 0; l < kLists; l++) {
      batch.data[at][l] = lists[l][t].data;
      batch.dtypes[at][l] = lists[l][t].dtype;
    }
    auto blocks = static_cast<unsigned>((batch.counts[at] + kListChunk - 1) / kListChunk);
    batch.first_block[at + 1] = batch.first_block[at] + blocks;
    if (batch.tuples == Batch::kMost) flush();
  }
  if (batch.tuples) flush();
}

}  // namespace tw::cuda
