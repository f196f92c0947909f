#pragma once

#include <optional>
#include <string>

namespace tw::ops {

struct DivAttrs {
  std::optional<std::string> rounding_mode;  // none, "trunc" or "floor"
};

}  // namespace tw::ops
