#pragma once

#include <optional>

#include "base/dims.h"
#include "base/scalar.h"

namespace tw::ops {

struct FullAttrs {
  IntList size;
  Scalar fill_value;
  std::optional<DType> dtype;
};

}  // namespace tw::ops
