#pragma once

#include <string>

#include "base/dims.h"
#include "base/error.h"

namespace tw::ops {

struct GatherAttrs {
  int64_t dim;
  bool sparse_grad;  // refused
};

struct ScatterAttrs {
  int64_t dim;
  std::string reduce;  // "set", "sum", "prod", "mean", "amax" or "amin"
  bool include_self;   // does what lay there take part in the reduction?
};

}  // namespace tw::ops
