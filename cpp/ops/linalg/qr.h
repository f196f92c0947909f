#pragma once

#include <string>

namespace tw::ops {

struct QrAttrs {
  std::string mode;  // "reduced", "complete", or "r": without Q
};

}  // namespace tw::ops
