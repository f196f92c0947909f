// See logic.cc; of integers.
#pragma once

#include <cstdint>

#include "base/formula.h"

namespace tw::ops {

template <class T>
TW_FORMULA uint64_t magnitude(T a) {
  return a < 0 ? 0 - static_cast<uint64_t>(a) : static_cast<uint64_t>(a);
}
TW_FORMULA uint64_t common_divisor(uint64_t a, uint64_t b) {
  while (b) {
    uint64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}
struct GcdFormula {
  template <class T>
  TW_FORMULA T operator()(T a, T b) const {
    return static_cast<T>(common_divisor(magnitude(a), magnitude(b)));
  }
};
struct LcmFormula {
  template <class T>
  TW_FORMULA T operator()(T a, T b) const {
    uint64_t divisor = common_divisor(magnitude(a), magnitude(b));
    return divisor ? static_cast<T>(magnitude(a) / divisor * magnitude(b)) : T(0);
  }
};

template <class T>
TW_FORMULA bool within_width(T shift) {
  return shift >= 0 && static_cast<uint64_t>(shift) < sizeof(T) * 8;
}
struct LeftShiftFormula {
  template <class T>
  TW_FORMULA T operator()(T a, T b) const {
    // Unsigned, as shifting into the sign is undefined.
    return within_width(b) ? static_cast<T>(static_cast<uint64_t>(a) << b) : T(0);
  }
};
struct RightShiftFormula {
  template <class T>
  TW_FORMULA T operator()(T a, T b) const {
    return within_width(b) ? static_cast<T>(a >> b) : static_cast<T>(a < 0 ? -1 : 0);
  }
};

}  // namespace tw::ops
