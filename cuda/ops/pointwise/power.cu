// pow and its gradient. Bytes: the operands' once. Squares, cubes, roots and reciprocals need no logarithm
// and run at the bandwidth; other powers take some 60 instructions an element.
#include "cuda/common/functions.h"

namespace tw::cuda {

using device::KernelContext;

namespace {

template <class T>
TW_DEVICE T int_power(T base, T exponent) {
  if constexpr (std::is_signed_v<T>) {
    if (exponent < 0) {
      if (base == T(1)) return 1;
      if (base == T(-1)) return exponent % 2 ? T(-1) : T(1);
      return 0;
    }
  }
  // In uint64, where overflow wraps around.
  uint64_t result = 1, square = static_cast<uint64_t>(base);
  for (auto left = static_cast<uint64_t>(exponent); left; left >>= 1) {
    if (left & 1) result *= square;
    square *= square;
  }
  return static_cast<T>(result);
}

// Where the exponent is a number all threads take the same branch.
struct Power {
  template <class C>
  TW_DEVICE C operator()(C base, C exponent) const {
    if constexpr (std::is_integral_v<C>) {
      return int_power(base, exponent);
    } else {
      if (exponent == C(2)) return base * base;
      if (exponent == C(3)) return base * base * base;
      if (exponent == C(0.5)) return std::sqrt(base);
      if (exponent == C(-0.5)) return C(1) / std::sqrt(base);
      if (exponent == C(-1)) return C(1) / base;
      return std::pow(base, exponent);
    }
  }
};
struct PowerBackward {
  template <class C>
  TW_DEVICE C operator()(C g, C base, C exponent) const {
    if (exponent == C(2)) return g * (C(2) * base);
    return exponent == C(0) ? C(0) : g * (exponent * std::pow(base, exponent - C(1)));
  }
};

void pow_kernel(KernelContext& k) {
  dispatch_real(k.out().dtype, k.op, [&]<class T>() { pointwise<T, T, T>(k, Power()); });
}
void pow_backward_kernel(KernelContext& k) {
  dispatch_float(k.out().dtype, k.op, [&]<class T>() { pointwise<T, T, T, T>(k, PowerBackward()); });
}

}  // namespace

void kernels_power(device::KernelTable& table) {
  table.add("pow", pow_kernel);
  table.add("pow_backward", pow_backward_kernel);
}

}  // namespace tw::cuda
