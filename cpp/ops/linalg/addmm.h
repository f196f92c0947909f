#pragma once

#include "base/scalar.h"

namespace tw::ops {

struct BetaAlphaAttrs {
  Scalar beta;
  Scalar alpha;
};

}  // namespace tw::ops
