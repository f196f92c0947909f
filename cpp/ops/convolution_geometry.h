// The sizes of one convolution, as kernels count them.
#pragma once

#include <array>
#include <cstdint>

#include "base/dims.h"
#include "base/formula.h"

namespace tw::ops {

// y = conv(x, w); x = the transposed convolution of y; w from x and y.
enum class ConvDirection { kForward, kInput, kWeight };

// Where in its input, along one dim, a tap of the kernel is at an output position; it may lie outside.
template <class I>
TW_FORMULA I input_position(I output, I tap, I stride, I padding, I dilation) {
  return output * stride - padding + tap * dilation;
}
// The output position at which a tap is at an input position; -1 where there is none.
template <class I>
TW_FORMULA I output_position(I input, I tap, I stride, I padding, I dilation, I outputs) {
  I reach = input + padding - tap * dilation;
  if (reach < 0 || reach % stride != 0) return -1;
  return reach / stride < outputs ? reach / stride : -1;
}

// A plain convolution between x[N, C, *D] and y[N, O, *P] with w[O, C/g, *K], all without gaps and row-major
// unless said; three spatial dims, the leading ones 1 where there are fewer.
struct ConvGeometry {
  int64_t images, groups, in_channels, out_channels;
  std::array<int64_t, 3> in, out, kernel, stride, padding, dilation;
  int dims;                    // 1 to 3
  bool channels_last = false;  // x and y lie as [N, *D, C]
  bool weight_last = false;    // w lies as [O, *K, C/g]

  int64_t in_positions() const { return in[0] * in[1] * in[2]; }
  int64_t out_positions() const { return out[0] * out[1] * out[2]; }
  int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  int64_t weight_count() const { return out_channels * (in_channels / groups) * taps(); }
  int64_t padding_after(int i) const {
    return (out[i] - 1) * stride[i] + dilation[i] * (kernel[i] - 1) + 1 - in[i] - padding[i];
  }
};

// From shapes of x, w and y and lists with one number a spatial dim.
inline ConvGeometry conv_geometry(const Dims& x, const Dims& w, const Dims& y, const IntList& stride,
                                  const IntList& padding, const IntList& dilation, int64_t groups) {
  ConvGeometry g{.images = x[0],
                 .groups = groups,
                 .in_channels = x[1],
                 .out_channels = y[1],
                 .in = {},
                 .out = {},
                 .kernel = {},
                 .stride = {},
                 .padding = {},
                 .dilation = {},
                 .dims = static_cast<int>(stride.size())};
  g.in = g.out = g.kernel = g.stride = g.dilation = {1, 1, 1};
  g.padding = {0, 0, 0};
  for (int i = 0; i < g.dims; i++) {
    int at = 3 - g.dims + i;
    g.in[at] = x[i + 2];
    g.out[at] = y[i + 2];
    g.kernel[at] = w[i + 2];
    g.stride[at] = stride[i];
    g.padding[at] = padding[i];
    g.dilation[at] = dilation[i];
  }
  return g;
}

}  // namespace tw::ops
