// true_divide, trunc_divide, floor_divide, remainder, fmod. Bytes: the operands' once; some 10 to 40
// instructions an element. Floor: bytes over the bandwidth. Divisions of integers wait for the device, since
// one by zero is an error.
#include <cmath>

#include "cuda/common/flag.h"
#include "cuda/common/functions.h"

namespace tw::cuda {

using device::KernelContext;

namespace {

TW_BINARY_FUNCTION(TrueDivide, g / x)

// Is a quotient rounded towards zero too high by one?
template <class T>
TW_DEVICE bool differs_from_floor(T rest, T b) {
  return rest != 0 && (rest < 0) != (b < 0);
}

struct TruncDivide {
  template <class T>
  TW_DEVICE T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>)
      return std::trunc(a / b);
    else
      return static_cast<T>(a / b);
  }
};
// By way of the remainder, so that a / b just below a whole number is not rounded up to it.
struct FloorDivide {
  template <class T>
  TW_DEVICE T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      if (b == 0) return a / b;
      T rest = std::fmod(a, b);
      T ratio = (a - rest) / b;
      if (differs_from_floor(rest, b)) ratio -= 1;
      if (ratio == 0) return std::copysign(T(0), a / b);
      T whole = std::floor(ratio);
      return ratio - whole > T(0.5) ? whole + 1 : whole;
    } else {
      return static_cast<T>(a / b - differs_from_floor(static_cast<T>(a % b), b));
    }
  }
};
struct Fmod {
  template <class T>
  TW_DEVICE T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>)
      return std::fmod(a, b);
    else
      return static_cast<T>(a % b);
  }
};
struct Remainder {
  template <class T>
  TW_DEVICE T operator()(T a, T b) const {
    T rest = Fmod()(a, b);
    return differs_from_floor(rest, b) ? static_cast<T>(rest + b) : rest;
  }
};

// By -1 apart, as the least integer has no negative.
template <class F, class T>
struct OfIntegers {
  int* by_zero;
  TW_DEVICE T operator()(T a, T b) const {
    if (b == 0) {
      raise_flag(by_zero);
      return T(0);
    }
    if constexpr (std::is_signed_v<T>) {
      constexpr bool kRest = std::is_same_v<F, Fmod> || std::is_same_v<F, Remainder>;
      if (b == T(-1)) return kRest ? T(0) : static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(a));
    }
    return F()(a, b);
  }
};

template <class F>
void divide(KernelContext& k) {
  if (is_float(k.out().dtype)) return binary_kernel<F>(k);
  DeviceFlag by_zero;
  dispatch_int(k.out().dtype, k.op,
               [&]<class T>() { pointwise<T, T, T>(k, OfIntegers<F, T>{by_zero.data()}); });
  TW_CHECK(!by_zero.raised(), kRuntime, k.op, ": ZeroDivisionError: an integer was divided by zero");
}

}  // namespace

void kernels_division(device::KernelTable& table) {
  table.add("true_divide", binary_kernel<TrueDivide>);
  table.add("trunc_divide", divide<TruncDivide>);
  table.add("floor_divide", divide<FloorDivide>);
  table.add("remainder", divide<Remainder>);
  table.add("fmod", divide<Fmod>);
}

}  // namespace tw::cuda
