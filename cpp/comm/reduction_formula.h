// What two elements become in a reduction over ranks, for the CPU and for kernels. Integers wrap around, as
// unsigned numbers do; of truth values sum and max are "or", prod and min "and"; NaN is the largest and the
// smallest number (a != a is false for integers, and compilers drop it).
#pragma once

#include <cstdint>
#include <type_traits>

#include "base/formula.h"

namespace tw::comm {

struct SumElements {
  template <class T>
  static TW_FORMULA T apply(T a, T b) {
    if constexpr (std::is_same_v<T, bool>)
      return a | b;
    else if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    else
      return a + b;
  }
};
struct MultiplyElements {
  template <class T>
  static TW_FORMULA T apply(T a, T b) {
    if constexpr (std::is_same_v<T, bool>)
      return a & b;
    else if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    else
      return a * b;
  }
};
struct LeastElement {
  template <class T>
  static TW_FORMULA T apply(T a, T b) {
    return a < b || a != a ? a : b;
  }
};
struct LargestElement {
  template <class T>
  static TW_FORMULA T apply(T a, T b) {
    return a > b || a != a ? a : b;
  }
};

}  // namespace tw::comm
