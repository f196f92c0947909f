#pragma once

#include <string>
#include <vector>

#include "base/dims.h"

namespace tw::ops {

// `scales`: output over input size of each dim as the caller gave it; empty: the ratio of the sizes.
struct ResampleAttrs {
  IntList size;  // the spatial sizes of what comes out
  std::string mode;
  bool align_corners;
  std::vector<double> scales;
};

}  // namespace tw::ops
