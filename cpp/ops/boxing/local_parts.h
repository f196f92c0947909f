#pragma once

#include <cstdint>
#include <string>

#include "base/dims.h"
#include "base/dtype.h"

namespace tw::ops {

struct TakePartAttrs {
  std::string layout;  // of the input, as the text of graphs writes it
  int64_t rank = 0;
};

struct JoinPartsAttrs {
  std::string layout;  // of the result
  IntList ranks;       // whose parts the inputs are
  IntList size;        // of the whole
  DType dtype = DType::kFloat32;
};

}  // namespace tw::ops
