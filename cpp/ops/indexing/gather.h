#pragma once

#include <string>

#include "base/dims.h"
#include "base/error.h"

namespace tw::ops {

struct GatherAttrs {
  int64_t dim;
  bool sparse_grad;  // refused
  // Where the indexed tensor is a part along dim: where it begins, and the size of the whole (-1: this is the
  // whole). Indices name places of the whole; those of other parts are left out, gather gives zeros for them.
  int64_t first, whole;
};

struct ScatterAttrs {
  int64_t dim;
  std::string reduce;  // "set", "sum", "prod", "mean", "amax" or "amin"
  bool include_self;   // does what lay there take part in the reduction?
  int64_t first, whole;
};

}  // namespace tw::ops
