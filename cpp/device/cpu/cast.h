// Conversion between dtypes, and copies between layouts.
#pragma once

#include <type_traits>

#include "device/cpu/clones.h"
#include "device/cpu/element.h"
#include "device/kernel.h"

namespace tw::device {

// out = in, converted to out's dtype and broadcast to its sizes. Complex to real takes the real part;
// anything but 0 (NaN too) is true; floats become whole numbers by truncation. The operands must not overlap,
// unless they are the same.
void copy_cast(const Operand& out, const Operand& in);

// One value from compute_t<In> to Out, as copy_cast does it.
template <class Out, class Value>
TW_INLINE stored_t<Out> convert(Value value) {
  if constexpr (is_complex_type<Value> && is_complex_type<Out>) {
    using Real = typename Out::value_type;
    return Out(static_cast<Real>(value.real()), static_cast<Real>(value.imag()));
  } else if constexpr (is_complex_type<Value> && std::is_same_v<Out, bool>) {
    return (value.real() != 0) | (value.imag() != 0);
  } else if constexpr (is_complex_type<Value>) {
    return convert<Out>(value.real());
  } else if constexpr (is_complex_type<Out>) {
    return Out(static_cast<typename Out::value_type>(value));
  } else if constexpr (std::is_floating_point_v<Value> && std::is_same_v<Out, uint8_t>) {
    return static_cast<uint8_t>(static_cast<int64_t>(value));  // -1.0 becomes 255
  } else if constexpr (std::is_floating_point_v<Value> && std::is_integral_v<Out> && sizeof(Out) < 4 &&
                       !std::is_same_v<Out, bool>) {
    return static_cast<Out>(static_cast<int32_t>(value));
  } else if constexpr (std::is_same_v<Out, bool>) {
    return value != Value(0);
  } else {
    return store<Out>(value);
  }
}

}  // namespace tw::device
