// Numbers as unsigned keys in the order that the ops of cpp/ops/ordering give them: NaN is larger than
// everything, whatever its sign, and -0 is 0.
#pragma once

#include <cstring>

#include "cuda/common/pointwise.h"
#include "cuda/common/sorted_rows.h"

namespace tw::cuda {

template <class T>
struct OrderKey {
  // A bool as a byte, which need not be 0 or 1.
  using C = std::conditional_t<std::is_same_v<T, bool>, uint8_t, compute_t<T>>;
  using K = std::conditional_t<sizeof(C) == 8, uint64_t, uint32_t>;
  static constexpr bool kHasNan = std::is_floating_point_v<C>;
  // A half's lowest bits, seen as a float, are 0.
  static constexpr int kDropped = std::is_same_v<T, bfloat16> ? 16 : std::is_same_v<T, float16> ? 13 : 0;
  static constexpr int kBits = std::is_same_v<T, bool> ? 1
                               : std::is_integral_v<T> ? 8 * static_cast<int>(sizeof(T))
                                                       : 8 * static_cast<int>(sizeof(C)) - kDropped;
  static constexpr K kLast = static_cast<K>(~K(0)) >> (8 * static_cast<int>(sizeof(K)) - kBits);  // NaN's

  bool descending = false;

  TW_DEVICE K operator()(C x) const { return descending ? rising(x) ^ kLast : rising(x); }

  TW_DEVICE static K rising(C x) {
    if constexpr (kHasNan) {
      if (x != x) return kLast;
      if (x == C(0)) x = C(0);
      K bits = bits_of(x), sign = K(1) << (8 * sizeof(K) - 1);
      return (bits & sign ? ~bits : bits | sign) >> kDropped;
    } else if constexpr (std::is_same_v<T, bool>) {
      return (x + 255u) >> 8;  // no comparison: of four bytes it would be made in memory
    } else if constexpr (std::is_signed_v<C>) {
      return (static_cast<K>(x) ^ (K(1) << (kBits - 1))) & kLast;
    } else {
      return static_cast<K>(x);
    }
  }

 private:
  TW_DEVICE static K bits_of(C x) {
    K bits;
    memcpy(&bits, &x, sizeof(bits));
    return bits;
  }
};

// The keys of x along `dim`, row by row in row-major order of the other dims.
template <class T>
void write_keys(const device::Operand& x, int64_t dim, bool descending, typename OrderKey<T>::K* keys,
                const char* op) {
  Dims strides = lines_of(*x.sizes, dim);
  using K = typename OrderKey<T>::K;
  device::Operand out{keys, x.sizes, &strides, sizeof(K) == 8 ? DType::kInt64 : DType::kInt32};
  pointwise_over(Types<K>{}, Types<stored_t<T>>{}, {&out}, {&x}, op, OrderKey<T>{descending});
}

}  // namespace tw::cuda
