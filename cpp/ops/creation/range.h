#pragma once

#include <optional>

#include "base/dtype.h"
#include "base/scalar.h"

namespace tw::ops {

struct RangeAttrs {
  int64_t count;
  Scalar start;
  Scalar step;
  DType dtype;
  int64_t first;  // the position of the first number, where this is a part
};

struct LinspaceAttrs {
  int64_t steps;
  Scalar start;
  Scalar end;
  DType dtype;
  int64_t first;                 // the position of the first number, where this is a part
  std::optional<int64_t> whole;  // the steps of the whole then
};

struct RepeatAttrs {
  int64_t total;
};

}  // namespace tw::ops
