// See logic.cc; of integers, the first four of bools too.
#pragma once

#include <cstdint>
#include <type_traits>

#include "base/formula.h"

namespace tw::ops {

struct AndFormula {
  template <class T>
  TW_FORMULA T operator()(T a, T b) const {
    return static_cast<T>(a & b);
  }
};
struct OrFormula {
  template <class T>
  TW_FORMULA T operator()(T a, T b) const {
    return static_cast<T>(a | b);
  }
};
struct XorFormula {
  template <class T>
  TW_FORMULA T operator()(T a, T b) const {
    return static_cast<T>(a ^ b);
  }
};
struct NotFormula {
  template <class T>
  TW_FORMULA T operator()(T a) const {
    if constexpr (std::is_same_v<T, bool>)
      return !a;
    else
      return static_cast<T>(~a);
  }
};

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

template <class Ops>
void add_logic(Ops ops) {
  ops.ints_and_bools("bitwise_and", AndFormula());
  ops.ints_and_bools("bitwise_or", OrFormula());
  ops.ints_and_bools("bitwise_xor", XorFormula());
  ops.ints_and_bools("bitwise_not", NotFormula());
  ops.ints("bitwise_left_shift", LeftShiftFormula());
  ops.ints("bitwise_right_shift", RightShiftFormula());
  ops.ints("gcd", GcdFormula());
  ops.ints("lcm", LcmFormula());
}

}  // namespace tw::ops
