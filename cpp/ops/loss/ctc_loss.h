#pragma once

#include "base/dims.h"

namespace tw::ops {

struct CtcAttrs {
  IntList input_lengths, target_lengths;
  int64_t blank;
  bool zero_infinity;  // impossible alignments cost 0 instead of infinity
};

}  // namespace tw::ops
