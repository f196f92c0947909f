#pragma once

#include <optional>

#include "base/dtype.h"

namespace tw::ops {

struct RecurrenceAttrs {
  int64_t dim;
  bool from_end;
};

struct DimKeepDTypeAttrs {
  int64_t dim;
  bool keepdim;
  std::optional<DType> dtype;  // inputs are converted to it first
};

}  // namespace tw::ops
