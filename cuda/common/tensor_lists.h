// Lists of tensors worked on together, element by element: optimizer steps, clipping. Tuple i holds the i-th
// tensor of every list; as many tuples go into one launch as its arguments hold, each cut into chunks that
// blocks take.
//
//   step_over<C>(k.op, lists, written, [&](int tuple) { return Rule{...}; });
//
// The rule is a struct whose call operator takes a C& for each list, which it may change; lists whose bit is
// in `written` are stored back. Bytes: every list read, the written ones written. Floor: these over the
// bandwidth.
#pragma once

#include <array>
#include <span>
#include <utility>

#include "cuda/common/any_dtype.h"
#include "cuda/common/launch.h"
#include "cuda/common/tuple_copies.h"
#include "device/kernel.h"
#include "ops/optim/step_ops.h"

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

// The elements of its tuple that a block works on.
struct ListChunk {
  int tuple = 0;
  int64_t first, last;
};
template <class Batch>
TW_DEVICE ListChunk chunk_of_block(const Batch& batch) {
  ListChunk chunk;
  while (blockIdx.x >= batch.first_block[chunk.tuple + 1]) chunk.tuple++;
  chunk.first = static_cast<int64_t>(blockIdx.x - batch.first_block[chunk.tuple]) * kListChunk;
  int64_t count = batch.counts[chunk.tuple];
  chunk.last = chunk.first + kListChunk < count ? chunk.first + kListChunk : count;
  return chunk;
}

template <class Rule, class C, size_t... I>
TW_DEVICE void apply_to(const Rule& rule, C* values, std::index_sequence<I...>) {
  rule(values[I]...);
}

template <class C, class Rule, int kLists>
__global__ void __launch_bounds__(kListThreads) tuples_kernel(TupleBatch<C, Rule, kLists> batch) {
  auto [t, first, last] = chunk_of_block(batch);
  for (int64_t i = first + threadIdx.x; i < last; i += kListThreads) {
    C values[kLists];
    TW_UNROLL
    for (int l = 0; l < kLists; l++) values[l] = load_as<C>(batch.data[t][l], batch.dtypes[t][l], i);
    apply_to(batch.rules[t], values, std::make_index_sequence<kLists>());
    TW_UNROLL
    for (int l = 0; l < kLists; l++)
      if (batch.written >> l & 1) store_as(batch.data[t][l], batch.dtypes[t][l], i, values[l]);
  }
}

// float64 where some tensor has that dtype, else float32.
inline DType widest_of(std::span<const std::span<const device::Operand>> lists) {
  for (auto list : lists)
    for (const device::Operand& operand : list)
      if (operand.dtype == DType::kFloat64) return DType::kFloat64;
  return DType::kFloat32;
}

// run(batch) for batches of all tuples, in their order; make_rule(tuple) gives their rules.
template <class C, int kLists, class MakeRule, class Run>
void for_batches(const char* op, const std::span<const device::Operand> (&lists)[kLists], unsigned written,
                 const MakeRule& make_rule, const Run& run) {
  TupleBatch<C, decltype(make_rule(0)), kLists> batch;
  batch.written = written;
  TupleCopies copies(op);
  auto flush = [&] {
    run(batch);
    copies.give_back();
    batch.tuples = 0;
  };
  for (size_t t = 0; t < lists[0].size(); t++) {
    int at = batch.tuples++;
    batch.counts[at] = lists[0][t].count();
    batch.rules[at] = make_rule(static_cast<int>(t));
    bool alike = lie_alike(lists, t);
    for (int l = 0; l < kLists; l++) {
      const device::Operand& tensor = lists[l][t];
      batch.data[at][l] = alike ? tensor.data : copies.add(tensor, written >> l & 1);
      batch.dtypes[at][l] = tensor.dtype;
    }
    auto blocks = static_cast<unsigned>((batch.counts[at] + kListChunk - 1) / kListChunk);
    batch.first_block[at + 1] = batch.first_block[at] + blocks;
    if (batch.tuples == batch.kMost) flush();
  }
  if (batch.tuples) flush();
}

template <class C, int kLists, class MakeRule>
void step_over(const char* op, const std::span<const device::Operand> (&lists)[kLists], unsigned written,
               const MakeRule& make_rule) {
  for_batches<C>(op, lists, written, make_rule, [&](const auto& batch) {
    launch(op, tuples_kernel<C, decltype(make_rule(0)), kLists>,
           {batch.first_block[batch.tuples], kListThreads}, batch);
  });
}

// What optimizer steps run on the device (ops/optim/step_ops.h).
struct CudaStepLoop {
  template <int kStates, class Factory>
  static void run(device::KernelContext& k, const std::array<int, 2 + kStates>& which,
                  const Factory& factory) {
    std::span<const device::Operand> lists[2 + kStates];
    for (int l = 0; l < 2 + kStates; l++) lists[l] = k.list(which[l]);
    constexpr unsigned kAllButGrads = ((1u << (2 + kStates)) - 1) & ~2u;
    dispatch_full_float(widest_of(lists), k.op, [&]<class C>() {
      step_over<C>(k.op, lists, kAllButGrads, [&](int t) { return factory.template operator()<C>(t); });
    });
  }
};

}  // namespace tw::cuda
