#pragma once

#include <optional>

#include "base/dims.h"

namespace tw::ops {

// Which gradients a backward op computes; the others are empty tensors.
inline constexpr int64_t kNormInput = 1, kNormWeight = 2, kNormBias = 4;

struct LayerNormAttrs {
  IntList normalized_shape;
  double eps;
};

struct RmsNormAttrs {
  IntList normalized_shape;
  std::optional<double> eps;  // none: the dtype's epsilon
};

struct LayerNormBackwardAttrs {
  IntList normalized_shape;
  int64_t wanted;
};

struct GroupNormAttrs {
  int64_t num_groups;
  double eps;
};

struct GroupNormBackwardAttrs {
  int64_t num_groups;
  int64_t wanted;
};

struct BatchNormAttrs {
  double eps;
};

struct BatchNormBackwardAttrs {
  int64_t wanted;
};

}  // namespace tw::ops
