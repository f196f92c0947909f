#pragma once

#include <cstdint>

namespace tw::ops {

struct LoopAttrs {
  int64_t length = -1;
  bool reverse = false;
  bool parts = false;
};

}  // namespace tw::ops
