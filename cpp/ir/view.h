// A view op's rule on memory: where the output lies in the input's storage. Graph values have no strides and
// never call it.
#pragma once

#include "base/dims.h"

namespace tw::ir {

struct Geometry {
  Dims sizes;
  Dims strides;
  int64_t offset = 0;  // in elements, from the start of the storage
};

// Returns false where no view exists (reshape of a transposed tensor): dispatch then copies the input first.
// Sizes come from inference, in `output->sizes`; the rule fills strides and offset.
using ViewFn = bool (*)(const Geometry& input, const void* attrs, Geometry* output);

}  // namespace tw::ir
