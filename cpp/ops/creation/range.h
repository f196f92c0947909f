#pragma once

#include "base/dtype.h"
#include "base/scalar.h"

namespace tw::ops {

struct RangeAttrs {
  int64_t count;
  Scalar start;
  Scalar step;
  DType dtype;
};

struct LinspaceAttrs {
  int64_t steps;
  Scalar start;
  Scalar end;
  DType dtype;
};

struct RepeatAttrs {
  int64_t total;
};

}  // namespace tw::ops
