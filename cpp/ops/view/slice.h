#pragma once

#include "base/dims.h"

namespace tw::ops {

struct SliceAttrs {
  int64_t dim;
  int64_t start;  // Python's meaning: negative ones count from the end, what is outside is clamped
  int64_t end;
  int64_t step;
};

struct SliceScatterAttrs {
  IntList input_size;
  int64_t dim;
  int64_t start;
  int64_t end;
  int64_t step;
};

struct SelectAttrs {
  int64_t dim;
  int64_t index;
};

struct SelectScatterAttrs {
  IntList input_size;
  int64_t dim;
  int64_t index;
};

}  // namespace tw::ops
