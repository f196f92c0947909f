#pragma once

#include <cstdint>

namespace tw::ops {

struct LoopAttrs {
  int64_t length = -1;
  bool reverse = false;
};

}  // namespace tw::ops
