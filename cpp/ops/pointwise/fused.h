#pragma once

#include "base/scalar.h"

namespace tw::ops {

struct ValueAttrs {
  Scalar value = 1;
};

}  // namespace tw::ops
