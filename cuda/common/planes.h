// Tensors [N, C, *D] of one to three spatial dims as kernels of images see them: elements are counted in the
// order in which they lie in memory, row-major or channels-last, and each knows its place.
#pragma once

#include "base/error.h"
#include "base/memory_order.h"
#include "cuda/common/walk.h"

namespace tw::cuda {

struct Place {
  int image, channel;
  int at[3];
};

struct Planes {
  int64_t count;
  int images, channels, sizes[3];  // leading spatial dims are 1 where there are fewer
  int64_t strides[5];              // elements: image, channel, spatial dims
  bool channels_last;
  Divisor by_channels, by_sizes[3];

  int64_t positions() const { return int64_t{sizes[0]} * sizes[1] * sizes[2]; }

  TW_DEVICE Place place(int64_t element) const {
    Place p;
    auto rest = static_cast<uint32_t>(element);
    if (channels_last) p.channel = split(rest, by_channels);
    TW_UNROLL
    for (int d = 2; d >= 0; d--) p.at[d] = split(rest, by_sizes[d]);
    if (!channels_last) p.channel = split(rest, by_channels);
    p.image = static_cast<int>(rest);
    return p;
  }
  // Where the plane of a place begins.
  TW_DEVICE int64_t plane(const Place& p) const { return p.image * strides[0] + p.channel * strides[1]; }
  TW_DEVICE int64_t within(int a, int b, int c) const {
    return a * strides[2] + b * strides[3] + c * strides[4];
  }
  TW_DEVICE int64_t offset(const Place& p) const { return plane(p) + within(p.at[0], p.at[1], p.at[2]); }
  // Of a position by its number in a row-major plane.
  TW_DEVICE int64_t within(int64_t position) const {
    auto rest = static_cast<uint32_t>(position);
    int c = split(rest, by_sizes[2]), b = split(rest, by_sizes[1]);
    return within(static_cast<int>(rest), b, c);
  }

 private:
  // What `rest` counts innermost; the rest is left.
  TW_DEVICE static int split(uint32_t& rest, const Divisor& by) {
    uint32_t next = by.quotient(rest);
    auto index = static_cast<int>(rest - next * by.divisor);
    rest = next;
    return index;
  }
};

inline Planes make_planes(const device::Operand& operand, const char* op) {
  int64_t rank = operand.rank(), missing = 5 - rank;
  Planes p{operand.count(), 0, 0, {1, 1, 1}, {}, is_channels_last(*operand.sizes, *operand.strides), {}, {}};
  TW_CHECK(rank >= 3 && rank <= 5 && p.count < kMostSteps, kNotImplemented, op, ": a tensor of shape ",
           *operand.sizes, " is not supported on CUDA");
  for (int64_t d = 0; d < 2; d++) p.strides[d] = operand.stride(d);
  p.images = static_cast<int>(operand.size(0));
  p.channels = static_cast<int>(operand.size(1));
  p.by_channels = Divisor(static_cast<uint32_t>(p.channels > 0 ? p.channels : 1));
  for (int64_t d = 2; d < rank; d++) {
    p.sizes[d - 2 + missing] = static_cast<int>(operand.size(d));
    p.strides[d + missing] = operand.stride(d);
  }
  for (int d = 0; d < 3; d++) p.by_sizes[d] = Divisor(static_cast<uint32_t>(p.sizes[d] > 0 ? p.sizes[d] : 1));
  return p;
}

}  // namespace tw::cuda
