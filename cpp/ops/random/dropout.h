#pragma once

#include "base/philox.h"
#include "ops/random_part.h"

namespace tw::ops {

struct DropoutAttrs {
  double p = 0.5;
  PhiloxKey key;
  RandomPart part;
};

struct DropoutBackwardAttrs {
  double scale = 1;
};

}  // namespace tw::ops
