// Attributes of the pools, and the sizes that they imply. Lists hold one number a spatial dim.
#pragma once

#include <optional>

#include "base/dims.h"

namespace tw::ops {

struct MaxPoolAttrs {
  IntList kernel_size;
  IntList stride;
  IntList padding;
  IntList dilation;
  bool ceil_mode;
};

struct AvgPoolAttrs {
  IntList kernel_size;
  IntList stride;
  IntList padding;
  bool ceil_mode;
  bool count_include_pad;
  std::optional<int64_t> divisor_override;
};

struct AvgPoolBackwardAttrs {
  IntList input_size;
  IntList kernel_size;
  IntList stride;
  IntList padding;
  bool ceil_mode;
  bool count_include_pad;
  std::optional<int64_t> divisor_override;
};

struct AdaptiveAttrs {
  IntList output_size;
};

struct AdaptiveBackwardAttrs {
  IntList input_size;
};

struct PlaneScatterAttrs {
  IntList size;
  bool accumulate;
};

// With ceil_mode the last window may begin inside the input or its left padding only.
inline int64_t pooled_size(int64_t size, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation,
                           bool ceil) {
  int64_t room = size + 2 * padding - dilation * (kernel - 1) - 1;
  if (room < 0) return ceil && room + stride - 1 >= 0 ? 1 : 0;
  int64_t out = (room + (ceil ? stride - 1 : 0)) / stride + 1;
  if (ceil && (out - 1) * stride >= size + padding) out--;
  return out;
}

}  // namespace tw::ops
