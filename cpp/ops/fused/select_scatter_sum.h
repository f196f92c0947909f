#pragma once

#include <cstdint>

namespace tw::ops {

struct SelectScatterSumAttrs {
  int64_t dim;
};

}  // namespace tw::ops
