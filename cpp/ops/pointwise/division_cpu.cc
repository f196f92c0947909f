// One pass over the operands. true_divide and trunc_divide of floats run at the bandwidth or at the divider's
// rate; the others call the C library's fmod and are scalar, integers use the scalar divider.
#include <atomic>
#include <cmath>

#include "device/cpu/loops.h"

namespace tw::ops {

using namespace device;

namespace {

// The quotient of ints; -1 apart, as the least int has no negative and the processor would trap.
template <class T>
TW_INLINE T wrapping_divide(T a, T b) {
  if constexpr (std::is_signed_v<T>) {
    if (b == T(-1)) return static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(a));
  }
  return static_cast<T>(a / b);
}
template <class T>
TW_INLINE T wrapping_modulo(T a, T b) {
  if constexpr (std::is_signed_v<T>) {
    if (b == T(-1)) return 0;
  }
  return static_cast<T>(a % b);
}
// Is a quotient rounded towards zero too high by one?
template <class T>
TW_INLINE bool differs_from_floor(T rest, T b) {
  return rest != 0 && (rest < 0) != (b < 0);
}

struct TruncDivide {
  template <class T>
  TW_INLINE T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>)
      return std::trunc(a / b);
    else
      return wrapping_divide(a, b);
  }
};

// By way of the remainder, so that a / b just below a whole number is not rounded up to it.
struct FloorDivide {
  template <class T>
  TW_INLINE T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      if (b == 0) return a / b;
      T rest = std::fmod(a, b);
      T ratio = (a - rest) / b;
      if (differs_from_floor(rest, b)) ratio -= 1;
      if (ratio == 0) return std::copysign(T(0), a / b);
      T whole = std::floor(ratio);
      return ratio - whole > T(0.5) ? whole + 1 : whole;
    } else {
      return static_cast<T>(wrapping_divide(a, b) - differs_from_floor(wrapping_modulo(a, b), b));
    }
  }
};

struct Fmod {
  template <class T>
  TW_INLINE T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>)
      return std::fmod(a, b);
    else
      return wrapping_modulo(a, b);
  }
};

struct Remainder {
  template <class T>
  TW_INLINE T operator()(T a, T b) const {
    T rest = Fmod()(a, b);
    return differs_from_floor(rest, b) ? static_cast<T>(rest + b) : rest;
  }
};

template <class F>
void divide(KernelContext& k) {
  std::atomic<bool> by_zero = false;
  dispatch_real(k.out().dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    if constexpr (std::is_integral_v<T>) {
      std::atomic<bool>* seen = &by_zero;
      binary_loop<T, T, T>(k, [seen](C a, C b) {
        if (b != 0) return F()(a, b);
        seen->store(true, std::memory_order_relaxed);
        return C(0);
      });
    } else {
      binary_loop<T, T, T>(k, [](C a, C b) { return F()(a, b); });
    }
  });
  TW_CHECK(!by_zero, kRuntime, k.op, ": ZeroDivisionError: an integer was divided by zero");
}

void true_divide_kernel(KernelContext& k) {
  dispatch_float_complex(k.out().dtype, k.op, [&]<class T>() {
    binary_loop<T, T, T>(k, [](compute_t<T> a, compute_t<T> b) { return a / b; });
  });
}

}  // namespace

void kernels_division(KernelTable& table) {
  table.add("true_divide", true_divide_kernel);
  table.add("trunc_divide", divide<TruncDivide>);
  table.add("floor_divide", divide<FloorDivide>);
  table.add("remainder", divide<Remainder>);
  table.add("fmod", divide<Fmod>);
}

}  // namespace tw::ops
