#pragma once

#include "ops/convolution_geometry.h"

namespace tw::ops {

struct ColumnsAttrs {
  IntList kernel_size;
  IntList dilation;
  IntList padding;
  IntList stride;
};

struct FoldColumnsAttrs {
  IntList output_size;
  IntList kernel_size;
  IntList dilation;
  IntList padding;
  IntList stride;
};

// Of images [N, C, H, W], with a kernel for each channel.
template <class A>
inline ConvGeometry window_geometry(const A& a, const Dims& image) {
  Dims kernel{1, image[1]}, out{1, 1};
  for (int i = 0; i < 2; i++) {
    kernel.push_back(a.kernel_size[i]);
    out.push_back(
        (image[i + 2] + 2 * a.padding[i] - a.dilation[i] * (a.kernel_size[i] - 1) - 1) / a.stride[i] + 1);
  }
  return conv_geometry(image, kernel, out, a.stride, a.padding, a.dilation, 1);
}

}  // namespace tw::ops
