#pragma once

#include <optional>

#include "base/dims.h"

namespace tw::ops {

struct SqueezeAttrs {
  std::optional<IntList> dim;  // none: every dim of size 1
};

struct DiagonalAttrs {
  int64_t offset;
  int64_t dim1;
  int64_t dim2;
};

struct UnfoldAttrs {
  int64_t dimension;
  int64_t size;
  int64_t step;
};

}  // namespace tw::ops
