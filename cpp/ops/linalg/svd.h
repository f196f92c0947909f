#pragma once

#include <optional>
#include <string>

namespace tw::ops {

struct SvdAttrs {
  bool full_matrices;
  std::optional<std::string> driver;  // PyTorch's, for its CUDA library
};

struct SvdvalsAttrs {
  std::optional<std::string> driver;
};

}  // namespace tw::ops
