#pragma once

#include "base/scalar.h"

namespace tw::ops {

struct AlphaAttrs {
  Scalar alpha = 1;  // scales `other`
};

}  // namespace tw::ops
