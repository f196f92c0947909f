#pragma once

#include "base/dims.h"

namespace tw::ops {

struct WindowWriteAttrs {
  IntList stride;  // of the window, whose sizes are those of src
  int64_t offset;  // of its first element in the input, in row-major order
};

}  // namespace tw::ops
