#pragma once

#include "base/dtype.h"

namespace tw::ops {

struct CastAttrs {
  DType dtype;
};

}  // namespace tw::ops
