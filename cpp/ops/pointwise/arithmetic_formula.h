// See arithmetic.cc. Integers wrap around: signed ones are computed without sign, where overflow is defined.
#pragma once

#include <cstdint>
#include <type_traits>

#include "base/formula.h"

namespace tw::ops {

template <class C>
struct Wrapping {
  using type = C;
};
template <>
struct Wrapping<int32_t> {
  using type = uint32_t;
};
template <>
struct Wrapping<int64_t> {
  using type = uint64_t;
};
template <class C>
using wrap_t = typename Wrapping<C>::type;

template <class C>
TW_FORMULA C plus(C a, C b) {
  return static_cast<C>(static_cast<wrap_t<C>>(a) + static_cast<wrap_t<C>>(b));
}
template <class C>
TW_FORMULA C minus(C a, C b) {
  return static_cast<C>(static_cast<wrap_t<C>>(a) - static_cast<wrap_t<C>>(b));
}
template <class C>
TW_FORMULA C times(C a, C b) {
  return static_cast<C>(static_cast<wrap_t<C>>(a) * static_cast<wrap_t<C>>(b));
}
template <class C>
TW_FORMULA C negative(C a) {
  if constexpr (std::is_integral_v<C>)
    return minus(C(0), a);
  else
    return -a;
}

}  // namespace tw::ops
