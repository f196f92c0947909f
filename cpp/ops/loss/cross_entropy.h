#pragma once

#include <cstdint>
#include <string>

namespace tw::ops {

struct CrossEntropyAttrs {
  int64_t ignore_index;
  std::string reduction;  // "none", "mean" or "sum"
  double label_smoothing;
};

struct NllAttrs {
  int64_t ignore_index;
  std::string reduction;
};

struct NllBackwardAttrs {
  int64_t classes;
  int64_t ignore_index;
  std::string reduction;
};

}  // namespace tw::ops
