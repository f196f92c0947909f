// Attributes of convolutions, and the sizes that they imply. Lists hold one number a spatial dim.
#pragma once

#include "base/dims.h"

namespace tw::ops {

struct ConvolutionAttrs {
  IntList stride;
  IntList padding;
  IntList dilation;
  bool transposed;
  IntList output_padding;
  int64_t groups;
};

// A plain convolution with what follows it.
struct ConvolutionThenAttrs {
  IntList stride;
  IntList padding;
  IntList dilation;
  int64_t groups;
  bool relu;
};

struct ConvolutionWeightAttrs {
  IntList weight_size;
  IntList stride;
  IntList padding;
  IntList dilation;
  int64_t groups;
};

// How far a kernel of `size` reaches.
inline int64_t kernel_reach(int64_t size, int64_t dilation) { return dilation * (size - 1) + 1; }

inline int64_t convolved_size(int64_t size, int64_t kernel, int64_t stride, int64_t padding,
                              int64_t dilation) {
  return (size + 2 * padding - kernel_reach(kernel, dilation)) / stride + 1;
}

inline int64_t transposed_size(int64_t size, int64_t kernel, int64_t stride, int64_t padding,
                               int64_t dilation) {
  return (size - 1) * stride - 2 * padding + kernel_reach(kernel, dilation);
}

}  // namespace tw::ops
