#pragma once

#include "base/dims.h"

namespace tw::ops {

struct ColumnsAttrs {
  IntList kernel_size;
  IntList dilation;
  IntList padding;
  IntList stride;
};

struct FoldColumnsAttrs {
  IntList output_size;
  IntList kernel_size;
  IntList dilation;
  IntList padding;
  IntList stride;
};

}  // namespace tw::ops
