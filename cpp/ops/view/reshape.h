#pragma once

#include "base/dims.h"

namespace tw::ops {

struct ShapeAttrs {
  IntList shape;
};

struct DimsAttrs {
  IntList dims;
};

struct DimAttrs {
  int64_t dim;
};

struct TwoDimsAttrs {
  int64_t dim0;
  int64_t dim1;
};

}  // namespace tw::ops
