#pragma once

#include <cstdint>
#include <string>

#include "base/dims.h"
#include "base/dtype.h"

namespace tw::ops {

struct BoxingPartAttrs {
  std::string source, target;  // layouts, as the text of graphs writes them
  IntList size;                // of the whole
  DType dtype = DType::kFloat32;
  IntList ranks;
  int64_t order = 0;
};

}  // namespace tw::ops
