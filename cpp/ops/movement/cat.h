#pragma once

#include "base/dims.h"
#include "base/scalar.h"

namespace tw::ops {

struct CatAttrs {
  int64_t dim;
};

struct FlipAttrs {
  IntList dims;
};

struct PadAttrs {
  IntList pad;  // (before, after) of the last dim, then of the one before it, ...; negative ones crop
  Scalar value;
};

struct TriangleAttrs {
  int64_t diagonal;
};

}  // namespace tw::ops
