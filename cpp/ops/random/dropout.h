#pragma once

#include "base/philox.h"

namespace tw::ops {

struct DropoutAttrs {
  double p = 0.5;
  PhiloxKey key;
};

struct DropoutBackwardAttrs {
  double scale = 1;
};

}  // namespace tw::ops
