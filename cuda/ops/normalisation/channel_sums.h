// Two sums for each channel over tensors that are [outer, channels, inner] in memory, of one tensor or of two
// that lie alike: what batch_norm and group_norm need to know of a tensor before they change its elements.
//
//   struct F {
//     using Value = float;                   // sums of a few elements; longer ones are in double
//     Own of_channel(int64_t channel) const; // with add(Value& first, Value& second, C a[, C b]) const
//     void finish(int64_t channel, double first, double second) const;
//   };
//
// Channels that are rows, inner > 1: a block a channel. Channels side by side: a warp has 32 packs of them,
// the warps of a block share the rows. Where that leaves processors idle, channels are cut into slices, by
// shape alone, whose parts a second launch adds in order. Bytes: each tensor once. Floor: these over the
// bandwidth.
#pragma once

#include <algorithm>
#include <array>

#include "cuda/common/row_values.h"

namespace tw::cuda {

struct ChannelShape {
  int64_t outer, channels, inner;

  int64_t elements() const { return outer * inner; }  // of a channel
};

template <class T, int kInputs>
struct ChannelPass {
  const stored_t<T>* in[kInputs];
  int64_t channels, inner, elements;
  Divisor by_inner;
  int64_t slices, slice;  // of so many elements
  double* parts;          // [slices, channels, 2]; null: channels are finished

  template <class F>
  TW_DEVICE void give(const F& f, int64_t channel, int64_t slice_at, double first, double second) const {
    if (!parts) return f.finish(channel, first, second);
    double* at = parts + (slice_at * channels + channel) * 2;
    at[0] = first;
    at[1] = second;
  }
};

// Adds what kPack elements at `at` of each input come to.
template <class T, int kPack, int kInputs, class Own, class Value>
TW_DEVICE void add_pack(const Own* own, const ChannelPass<T, kInputs>& p, int64_t at, Value* first,
                        Value* second, int step) {
  Pack<stored_t<T>, kPack> packs[kInputs];
  TW_UNROLL
  for (int i = 0; i < kInputs; i++) packs[i] = load_pack<kPack>(p.in[i] + at);
  TW_UNROLL
  for (int j = 0; j < kPack; j++) {
    int to = j * step;
    if constexpr (kInputs == 1)
      own[to].add(first[to], second[to], load<T>(packs[0].at[j]));
    else
      own[to].add(first[to], second[to], load<T>(packs[0].at[j]), load<T>(packs[1].at[j]));
  }
}

template <class T, int kPack, int kInputs, class F>
__global__ void __launch_bounds__(kReduceThreads) channel_rows_kernel(F f, ChannelPass<T, kInputs> p) {
  int64_t channel = blockIdx.x / p.slices, slice = blockIdx.x % p.slices, begin = slice * p.slice;
  int64_t end = begin + p.slice < p.elements ? begin + p.slice : p.elements;
  auto own = f.of_channel(channel);
  double totals[2] = {0, 0};
  for (int64_t r = begin + threadIdx.x * kPack; r < end; r += int64_t{kReduceThreads} * kPack) {
    int64_t outer = p.by_inner.quotient(static_cast<uint32_t>(r));
    typename F::Value first = 0, second = 0;
    add_pack<T, kPack>(&own, p, (outer * (p.channels - 1) + channel) * p.inner + r, &first, &second, 0);
    totals[0] += static_cast<double>(first);
    totals[1] += static_cast<double>(second);
  }
  for (double& total : totals) total = block_reduce<kReduceThreads>(total, 0.0, Plus());
  if (threadIdx.x == 0) p.give(f, channel, slice, totals[0], totals[1]);
}

inline constexpr int kRowsAtOnce = 4;

template <class T, int kPack, int kInputs, class F>
__global__ void __launch_bounds__(kReduceThreads) channel_columns_kernel(F f, ChannelPass<T, kInputs> p) {
  constexpr int kColumns = kLanes * kPack;
  TW_SHARED(double, parts, 2 * kReduceWarps * kColumns);
  int64_t groups = (p.channels + kColumns - 1) / kColumns, group = blockIdx.x % groups;
  int64_t slice = blockIdx.x / groups, begin = slice * p.slice;
  int64_t end = begin + p.slice < p.elements ? begin + p.slice : p.elements;
  int64_t channel = group * kColumns + lane_index() * kPack;
  bool there = channel < p.channels;
  double totals[2][kPack] = {};
  if (there) {
    decltype(f.of_channel(0)) own[kPack];
    TW_UNROLL
    for (int j = 0; j < kPack; j++) own[j] = f.of_channel(channel + j);
    for (int64_t r = begin + warp_index(); r < end; r += kReduceWarps * kRowsAtOnce) {
      typename F::Value first[kPack] = {}, second[kPack] = {};
      TW_UNROLL
      for (int i = 0; i < kRowsAtOnce; i++)
        if (int64_t row = r + i * kReduceWarps; row < end)
          add_pack<T, kPack>(own, p, row * p.channels + channel, first, second, 1);
      TW_UNROLL
      for (int j = 0; j < kPack; j++) {
        totals[0][j] += static_cast<double>(first[j]);
        totals[1][j] += static_cast<double>(second[j]);
      }
    }
  }
  TW_UNROLL
  for (int i = 0; i < 2 * kPack; i++)
    parts[(i * kReduceWarps + warp_index()) * kLanes + lane_index()] = totals[i / kPack][i % kPack];
  __syncthreads();
  for (int c = static_cast<int>(threadIdx.x); c < kColumns; c += kReduceThreads) {
    double sums[2] = {0, 0};
    for (int which = 0; which < 2; which++)
      for (int warp = 0; warp < kReduceWarps; warp++)
        sums[which] += parts[((which * kPack + c / kLanes) * kReduceWarps + warp) * kLanes + c % kLanes];
    int64_t at = group * kColumns + c % kLanes * kPack + c / kLanes;
    if (at < p.channels) p.give(f, at, slice, sums[0], sums[1]);
  }
}

// A warp a channel: the parts of its slices.
template <class F>
__global__ void __launch_bounds__(kReduceThreads)
    channel_parts_kernel(F f, const double* parts, int64_t slices, int64_t channels) {
  int64_t channel = row_of_thread<kLanes>();
  double totals[2] = {0, 0};
  if (channel < channels)
    for (int64_t s = lane_index(); s < slices; s += kLanes)
      for (int which = 0; which < 2; which++) totals[which] += parts[(s * channels + channel) * 2 + which];
  for (double& total : totals) total = warp_reduce(total, Plus());
  if (channel < channels && lane_index() == 0) f.finish(channel, totals[0], totals[1]);
}

template <class T, size_t kTensors, class F>
void channel_sums(std::array<const stored_t<T>*, kTensors> in, const ChannelShape& shape, const char* op,
                  const F& f) {
  constexpr int kInputs = static_cast<int>(kTensors);
  constexpr int64_t kMostSlices = 1024;
  if (shape.channels == 0) return;
  TW_CHECK(shape.elements() < kMostSteps, kNotImplemented, op, ": channels of ", shape.elements(),
           " elements are not supported on CUDA");
  bool rows = shape.inner > 1, packed = (rows ? shape.inner : shape.channels) % kRowPack == 0;
  for (const auto* data : in) packed = packed && is_aligned(data);
  int64_t busy = rows ? shape.channels : (shape.channels + kLanes - 1) / kLanes;
  int64_t slice = std::max(rows ? kSlice : kSlice / kLanes, shape.elements() / kMostSlices);
  slice = (slice + kRowPack - 1) / kRowPack * kRowPack;
  bool cut = busy < kFewOutputs && shape.elements() > 2 * slice;
  ChannelPass<T, kInputs> p{{},
                            shape.channels,
                            shape.inner,
                            shape.elements(),
                            Divisor(static_cast<uint32_t>(std::max<int64_t>(shape.inner, 1))),
                            cut ? (shape.elements() + slice - 1) / slice : 1,
                            cut ? slice : shape.elements(),
                            nullptr};
  std::copy(in.begin(), in.end(), p.in);
  DeviceScratch parts(cut ? static_cast<size_t>(p.slices * p.channels * 2) * sizeof(double) : 0);
  if (cut) p.parts = parts.as<double>();
  int64_t columns = packed ? kLanes * kRowPack : kLanes;
  int64_t blocks = (rows ? shape.channels : (shape.channels + columns - 1) / columns) * p.slices;
  auto kernel =
      rows ? (packed ? channel_rows_kernel<T, kRowPack, kInputs, F> : channel_rows_kernel<T, 1, kInputs, F>)
           : (packed ? channel_columns_kernel<T, kRowPack, kInputs, F>
                     : channel_columns_kernel<T, 1, kInputs, F>);
  launch(op, kernel, {static_cast<unsigned>(blocks), kReduceThreads}, f, p);
  if (cut)
    launch(op, channel_parts_kernel<F>, row_grid<kLanes>(p.channels), f, parts.as<const double>(), p.slices,
           p.channels);
}

}  // namespace tw::cuda
