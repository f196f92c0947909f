// How an element of type T lies in memory and becomes a value to compute with.
#pragma once

#include <cstdint>
#include <type_traits>

#include "base/dtype.h"
#include "device/cpu/clones.h"

namespace tw::device {

// A bool is read as a byte, so that a byte that is neither 0 nor 1 still means true.
template <class T>
using stored_t = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;

template <class T>
TW_INLINE compute_t<T> load(stored_t<T> element) {
  if constexpr (std::is_same_v<T, bool>)
    return element != 0;
  else
    return static_cast<compute_t<T>>(element);
}

// Rounds a computed value to T; a value of another kind is converted as static_cast does.
template <class T, class Value>
TW_INLINE stored_t<T> store(Value value) {
  if constexpr (std::is_same_v<T, bool>)
    return static_cast<uint8_t>(static_cast<bool>(value));
  else if constexpr (is_half_type<T>)
    return T(static_cast<float>(value));
  else
    return static_cast<T>(value);
}

}  // namespace tw::device
