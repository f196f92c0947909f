// See magnitude.cc; of real elements.
#pragma once

#include <cmath>
#include <type_traits>

#include "base/formula.h"

namespace tw::ops {

struct AbsFormula {
  template <class C>
  TW_FORMULA C operator()(C a) const {
    if constexpr (std::is_floating_point_v<C>)
      return std::abs(a);
    else if constexpr (std::is_unsigned_v<C>)
      return a;
    else
      return a < 0 ? static_cast<C>(-a) : a;
  }
};

struct DirectionFormula {
  template <class C>
  TW_FORMULA C operator()(C a) const {
    if constexpr (std::is_floating_point_v<C>)
      return a != a ? C(0) : C((a > 0) - (a < 0));
    else if constexpr (std::is_unsigned_v<C>)
      return a != 0;
    else
      return static_cast<C>((a > 0) - (a < 0));
  }
};

// Pi of what is below 0, as an Out.
template <class Out>
struct RealAngleFormula {
  template <class C>
  TW_FORMULA Out operator()(C a) const {
    if constexpr (std::is_floating_point_v<C>)
      if (a != a) return a;
    if constexpr (std::is_signed_v<C>)
      if (a < 0) return Out(3.141592653589793);
    return Out(0);
  }
};

}  // namespace tw::ops
