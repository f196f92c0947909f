// See special_functions.cc. M: the functions used.
#pragma once

#include <limits>

#include "base/formula.h"
#include "ops/pointwise/special_functions.h"

namespace tw::ops {

// Of the result.
template <class C>
TW_FORMULA C sigmoid_slope(C result) {
  return (C(1) - result) * result;
}

template <class M, class C>
struct LogitFormula {
  C low, high;
  static LogitFormula of(const LogitAttrs& a) {
    constexpr C kInfinity = std::numeric_limits<C>::infinity();
    double eps = a.eps.value_or(-1);
    return {eps < 0 ? -kInfinity : C(eps), eps < 0 ? kInfinity : C(1) - C(eps)};
  }
  TW_FORMULA C operator()(C p) const {
    p = p < low ? low : p > high ? high : p;
    return M::log(p / (C(1) - p));
  }
};

}  // namespace tw::ops
