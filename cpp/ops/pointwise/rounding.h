#pragma once

#include <cstdint>

namespace tw::ops {

struct RoundAttrs {
  int64_t decimals;
};

}  // namespace tw::ops
