// An output of an op that drops a dim, with the dim put back, so that it can be walked beside the input.
#pragma once

#include "device/kernel.h"

namespace tw::device {

struct KeptDim {
  Dims sizes, strides;
  Operand operand;
  KeptDim(const Operand& out, const Operand& in, int64_t dim) : sizes(*out.sizes), strides(*out.strides) {
    if (out.rank() < in.rank()) {
      sizes.insert(sizes.begin() + dim, 1);
      strides.insert(strides.begin() + dim, 0);
    }
    operand = {out.data, &sizes, &strides, out.dtype};
  }
};

}  // namespace tw::device
