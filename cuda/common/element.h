// How an element of type T lies in memory and becomes a value to compute with: float for the half types.
#pragma once

#include <cstdint>
#include <type_traits>

#include "base/dtype.h"
#include "cuda/common/platform.h"

#ifndef TW_CUDA_EMULATOR
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

namespace tw::cuda {

// A bool is read as a byte, so that a byte that is neither 0 nor 1 still means true.
template <class T>
using stored_t = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;

template <class T>
TW_DEVICE compute_t<T> load(const stored_t<T>& element) {
  if constexpr (std::is_same_v<T, bool>) {
    return element != 0;
  } else if constexpr (std::is_same_v<T, bfloat16>) {
    return __uint_as_float(static_cast<unsigned>(element.bits) << 16);
#ifndef TW_CUDA_EMULATOR
  } else if constexpr (std::is_same_v<T, float16>) {
    return __half2float(__ushort_as_half(element.bits));
#endif
  } else {
    return static_cast<compute_t<T>>(element);
  }
}

// Rounds a computed value to T; a value of another kind is converted as static_cast does.
template <class T, class Value>
TW_DEVICE stored_t<T> store(Value value) {
  if constexpr (std::is_same_v<T, bool>) {
    return static_cast<uint8_t>(static_cast<bool>(value));
#ifndef TW_CUDA_EMULATOR
  } else if constexpr (std::is_same_v<T, float16>) {
    float16 result;
    result.bits = __half_as_ushort(__float2half_rn(static_cast<float>(value)));
    return result;
  } else if constexpr (std::is_same_v<T, bfloat16>) {
    bfloat16 result;
    result.bits = __bfloat16_as_ushort(__float2bfloat16_rn(static_cast<float>(value)));
    return result;
#endif
  } else if constexpr (is_half_type<T>) {
    return T(static_cast<float>(value));
  } else {
    return static_cast<T>(value);
  }
}

// A value as an element of another dtype: floats become whole numbers by truncation (-1.0 becomes 255 as an
// unsigned byte), anything but 0 is true.
template <class Out, class Value>
TW_DEVICE stored_t<Out> convert(Value value) {
  if constexpr (std::is_same_v<Out, bool>)
    return static_cast<uint8_t>(value != Value(0));
  else if constexpr (std::is_floating_point_v<Value> && std::is_same_v<Out, uint8_t>)
    return static_cast<uint8_t>(static_cast<int64_t>(value));
  else if constexpr (std::is_floating_point_v<Value> && std::is_integral_v<Out> && sizeof(Out) < 4)
    return static_cast<Out>(static_cast<int32_t>(value));
  else
    return store<Out>(value);
}

}  // namespace tw::cuda
