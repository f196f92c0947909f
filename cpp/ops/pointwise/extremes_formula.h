// See extremes.cc. a != a is false for integers, and compilers drop it.
#pragma once

#include "base/formula.h"

namespace tw::ops {

struct MaxFormula {
  template <class C>
  TW_FORMULA C operator()(C a, C b) const {
    return a > b || a != a ? a : b;
  }
};
struct MinFormula {
  template <class C>
  TW_FORMULA C operator()(C a, C b) const {
    return a < b || a != a ? a : b;
  }
};
struct NumberMaxFormula {
  template <class C>
  TW_FORMULA C operator()(C a, C b) const {
    return a > b || b != b ? a : b;
  }
};
struct NumberMinFormula {
  template <class C>
  TW_FORMULA C operator()(C a, C b) const {
    return a < b || b != b ? a : b;
  }
};
struct ClampFormula {
  template <class C>
  TW_FORMULA C operator()(C x, C low, C high) const {
    return MinFormula()(MaxFormula()(x, low), high);
  }
};

template <class Ops>
void add_extremes(Ops ops) {
  ops.reals_and_bools("maximum", MaxFormula());
  ops.reals_and_bools("minimum", MinFormula());
  ops.reals_and_bools("fmax", NumberMaxFormula());
  ops.reals_and_bools("fmin", NumberMinFormula());
}

}  // namespace tw::ops
