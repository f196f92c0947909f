// See fused.cc.
#pragma once

#include <cmath>

#include "base/dtype.h"
#include "base/formula.h"

namespace tw::ops {

// From the nearer end, so that weight 1 gives the end exactly.
struct LerpFormula {
  template <class C>
  TW_FORMULA C operator()(C a, C b, C w) const {
    if constexpr (is_complex_type<C>)
      return a + w * (b - a);
    else
      return std::abs(w) < C(0.5) ? a + w * (b - a) : b - (b - a) * (C(1) - w);
  }
};

template <class C>
struct AddProductFormula {
  C value;
  TW_FORMULA C operator()(C a, C b, C c) const { return static_cast<C>(a + value * b * c); }
};
template <class C>
struct AddQuotientFormula {
  C value;
  TW_FORMULA C operator()(C a, C b, C c) const { return a + value * b / c; }
};

}  // namespace tw::ops
