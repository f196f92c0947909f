// See float_pairs.cc.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/dtype.h"
#include "base/formula.h"

namespace tw::ops {

// The value next to `a` on the way to `b`. Those of a 16-bit float are numbered by its bits, its sign apart.
template <class T>
struct NextAfterFormula {
  using C = compute_t<T>;
  TW_FORMULA C operator()(C a, C b) const {
    if constexpr (is_half_type<T>) {
      if (a != a) return a;
      if (b != b || a == b) return b;
      T next(a);
      if (a == 0)
        next.bits = static_cast<uint16_t>(b < 0 ? 0x8001 : 0x0001);
      else
        next.bits = static_cast<uint16_t>(next.bits + ((a < b) == (a > 0) ? 1 : -1));
      return next;
    } else {
      return std::nextafter(a, b);
    }
  }
};

struct HeavisideFormula {
  template <class C>
  TW_FORMULA C operator()(C a, C b) const {
    return a == C(0) ? b : static_cast<C>(a > C(0));
  }
};

}  // namespace tw::ops
