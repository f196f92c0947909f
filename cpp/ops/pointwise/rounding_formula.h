// See rounding.cc.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "base/formula.h"

namespace tw::ops {

#define TW_ROUNDING(NAME, ...)           \
  struct NAME {                          \
    template <class C>                   \
    TW_FORMULA C operator()(C x) const { \
      return __VA_ARGS__;                \
    }                                    \
  };

TW_ROUNDING(FloorFormula, std::floor(x))
TW_ROUNDING(CeilFormula, std::ceil(x))
TW_ROUNDING(TruncFormula, std::trunc(x))
TW_ROUNDING(FracFormula, x - std::trunc(x))
TW_ROUNDING(RoundFormula, std::nearbyint(x))

#undef TW_ROUNDING

// To that many decimals; kWhole: negative ones, multiples of the factor and not of its reciprocal.
template <class C, bool kWhole>
struct RoundToFormula {
  C factor;
  static RoundToFormula of(int64_t decimals) {
    return {static_cast<C>(std::pow(10.0, static_cast<double>(std::abs(decimals))))};
  }
  TW_FORMULA C operator()(C x) const {
    if constexpr (kWhole)
      return std::nearbyint(x / factor) * factor;
    else
      return std::nearbyint(x * factor) / factor;
  }
};

// Integers are round already.
template <class Ops>
void add_rounding(Ops ops) {
  ops.floats_or_copied("floor", FloorFormula());
  ops.floats_or_copied("ceil", CeilFormula());
  ops.floats_or_copied("trunc", TruncFormula());
  ops.floats_or_copied("frac", FracFormula());
}

}  // namespace tw::ops
