#pragma once

#include <cstdint>
#include <optional>

namespace tw::ops {

struct LogitAttrs {
  std::optional<double> eps;  // the input is limited to [eps, 1 - eps]
};

struct PolygammaAttrs {
  int64_t n;  // the order of the derivative
};

struct NanToNumAttrs {
  double nan;
  std::optional<double> posinf, neginf;  // none: the largest and the least finite number
};

}  // namespace tw::ops
