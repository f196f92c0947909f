#pragma once

#include <optional>

#include "base/dims.h"
#include "base/dtype.h"

namespace tw::ops {

struct MeanAttrs {
  std::optional<IntList> dim;
  bool keepdim;
  std::optional<DType> dtype;    // inputs are converted to it first
  std::optional<int64_t> count;  // of the elements behind a mean in the whole; none: those that are here
};

}  // namespace tw::ops
