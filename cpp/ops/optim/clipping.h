#pragma once

namespace tw::ops {

struct NormAttrs {
  double p;
};

struct ClipAttrs {
  double max_norm;
};

struct UnscaleAttrs {
  double factor;
};

}  // namespace tw::ops
