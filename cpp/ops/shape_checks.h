// What gradients check of the tensors that come with theirs: kernels take it that these fit together.
#pragma once

#include "ir/infer.h"

namespace tw::ops {

// Input `i`, where it is there, has these sizes.
inline void want_sizes(const ir::InferContext& c, int i, const char* name, const Dims& sizes) {
  if (!c.has(i)) return;
  TW_CHECK(c.in(i).sizes == sizes, kRuntime, c.op, ": ", name, " of shape ", sizes, " is wanted, got ",
           c.in(i).sizes);
}

}  // namespace tw::ops
