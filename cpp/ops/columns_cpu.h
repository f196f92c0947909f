// Windows of an image as the columns of a matrix (im2col), and back.
#pragma once

#include <algorithm>

#include "device/cpu/parallel.h"
#include "ops/convolution_geometry.h"

namespace tw::ops {

// Calls f(column index, x index) for every tap of `row` (channel and kernel position) that lies inside the
// image.
template <class F>
void for_taps(const ConvGeometry& g, int64_t row, F f) {
  int64_t tap = row % g.taps(), channel = row / g.taps();
  int64_t k[3] = {tap / (g.kernel[1] * g.kernel[2]), tap / g.kernel[2] % g.kernel[1], tap % g.kernel[2]};
  auto at = [&](int i, int64_t p) {
    return input_position(p, k[i], g.stride[i], g.padding[i], g.dilation[i]);
  };
  int64_t column = 0;
  for (int64_t a = 0; a < g.out[0]; a++)
    for (int64_t b = 0; b < g.out[1]; b++) {
      int64_t i = at(0, a), j = at(1, b);
      bool inside = i >= 0 && i < g.in[0] && j >= 0 && j < g.in[1];
      int64_t base = ((channel * g.in[0] + i) * g.in[1] + j) * g.in[2];
      for (int64_t c = 0; c < g.out[2]; c++, column++)
        if (int64_t l = at(2, c); inside && l >= 0 && l < g.in[2]) f(column, base + l);
    }
}

template <class T>
void gather_columns(const ConvGeometry& g, const T* x, T* columns) {
  int64_t rows = g.in_channels / g.groups * g.taps(), positions = g.out_positions();
  device::parallel_for(0, rows, std::max<int64_t>(1, 8192 / std::max<int64_t>(1, positions)),
                       [&](int64_t first, int64_t last) {
                         for (int64_t row = first; row < last; row++) {
                           T* to = columns + row * positions;
                           std::fill_n(to, positions, T(0));
                           for_taps(g, row, [&](int64_t column, int64_t from) { to[column] = x[from]; });
                         }
                       });
}

// Channels are independent; the taps of one are added in order.
template <class T>
void scatter_columns(const ConvGeometry& g, const T* columns, T* x) {
  int64_t channels = g.in_channels / g.groups, positions = g.out_positions();
  device::parallel_for(0, channels, 1, [&](int64_t first, int64_t last) {
    std::fill(x + first * g.in_positions(), x + last * g.in_positions(), T(0));
    for (int64_t row = first * g.taps(); row < last * g.taps(); row++)
      for_taps(g, row,
               [&](int64_t column, int64_t to) { x[to] = T(x[to] + columns[row * positions + column]); });
  });
}

}  // namespace tw::ops
