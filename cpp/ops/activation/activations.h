#pragma once

namespace tw::ops {

// The numbers that shape an activation, in the order of its schema (a slope, two bounds, ...).
struct CurveAttrs {
  double p = 0, q = 0, r = 0;
};

}  // namespace tw::ops
