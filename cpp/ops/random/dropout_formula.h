// See dropout.cc: which elements stay, and what becomes of them.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/formula.h"

namespace tw::ops {

struct DropoutFormula {
  uint32_t threshold;
  bool none;  // stays: p is 1, or rounds to it
  double scale;

  static DropoutFormula of(double p) {
    double cut = std::nearbyint(p * 0x1p32);
    bool none = cut >= 0x1p32;
    return {static_cast<uint32_t>(none ? 0 : static_cast<int64_t>(cut)), none, none ? 0 : 1 / (1 - p)};
  }
  // Where some elements stay.
  TW_FORMULA bool keeps(uint32_t word) const { return word >= threshold; }
};

// What becomes of an element, and of its gradient.
template <class C>
struct KeepScaledFormula {
  C scale;
  TW_FORMULA C operator()(C x, bool keep) const {
    C value = x * scale;
    return keep ? value : C(0);
  }
};

}  // namespace tw::ops
