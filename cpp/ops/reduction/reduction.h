#pragma once

#include <optional>

#include "base/dims.h"
#include "base/dtype.h"

namespace tw::ops {

struct ReduceAttrs {
  std::optional<IntList> dim;  // none or empty: all dims
  bool keepdim;
};

struct ReduceDTypeAttrs {
  std::optional<IntList> dim;
  bool keepdim;
  std::optional<DType> dtype;  // inputs are converted to it first
};

struct SizeAttrs {
  IntList size;
};

}  // namespace tw::ops
