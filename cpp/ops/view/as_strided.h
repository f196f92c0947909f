#pragma once

#include <optional>

#include "base/dims.h"

namespace tw::ops {

struct AsStridedAttrs {
  IntList size;
  IntList stride;
  std::optional<int64_t> storage_offset;  // in elements, from the start of the storage; default: the input's
  // Where the input's own elements lie, for the gradient. Default: in row-major order from the storage's
  // start.
  IntList input_stride;
  int64_t input_offset;
};

// The same, for the gradient, with the shape of the input that was looked into.
struct AsStridedScatterAttrs {
  IntList input_size;
  IntList size;
  IntList stride;
  int64_t offset;  // from the input's first element, which lies in row-major order
};

}  // namespace tw::ops
