#pragma once

#include <string>

namespace tw::ops {

struct GeluAttrs {
  std::string approximate;  // "none" or "tanh"
};

}  // namespace tw::ops
