// For kernels on tensors that lie channels-last, [N, *D, C] in memory.
#pragma once

#include <algorithm>

#include "base/memory_order.h"
#include "device/cpu/parallel.h"
#include "device/kernel.h"

namespace tw::ops {

inline bool is_channels_last(const device::Operand& o) { return tw::is_channels_last(*o.sizes, *o.strides); }

// Whether the elements of a result follow one another in that order.
inline bool holds_channels_last(const device::Operand& o) {
  return o.rank() >= 4 && same_walk(*o.sizes, *o.strides, channels_last_strides(*o.sizes));
}

// An operand with its channels moved to the end: row-major where it lies channels-last.
struct ChannelsMoved {
  Dims sizes, strides;

  explicit ChannelsMoved(const device::Operand& o) : sizes(moved(*o.sizes)), strides(moved(*o.strides)) {}
  device::Operand of(const device::Operand& o) const { return {o.data, &sizes, &strides, o.dtype}; }

 private:
  static Dims moved(const Dims& dims) {
    Dims result{dims[0]};
    for (size_t i = 2; i < dims.size(); i++) result.push_back(dims[i]);
    result.push_back(dims[1]);
    return result;
  }
};

inline constexpr int64_t kChannelBlock = 128;

// Calls body(image, first channel, channels) for blocks of at most kChannelBlock channels, shared among
// threads; `positions` are those of an image.
template <class Body>
void for_channel_blocks(int64_t images, int64_t channels, int64_t positions, Body body) {
  int64_t blocks = (channels + kChannelBlock - 1) / kChannelBlock;
  int64_t elements = std::max<int64_t>(1, positions * std::min(channels, kChannelBlock));
  device::parallel_for(0, images * blocks, std::max<int64_t>(1, (1 << 15) / elements),
                       [&](int64_t begin, int64_t end) {
                         for (int64_t i = begin; i < end; i++) {
                           int64_t first = i % blocks * kChannelBlock;
                           body(i / blocks, first, std::min(kChannelBlock, channels - first));
                         }
                       });
}

}  // namespace tw::ops
