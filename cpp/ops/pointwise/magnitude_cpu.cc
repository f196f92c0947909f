// One pass; floor: the operands' bytes over the bandwidth. Complex forms call the C library.
#include <cmath>

#include "device/cpu/loops.h"
#include "ops/pointwise/magnitude_formula.h"

namespace tw::ops {

using namespace device;

namespace {

void abs_kernel(KernelContext& k) {
  dispatch_number(k.in(0).dtype, k.op, [&]<class T>() {
    if constexpr (is_complex_type<T>) {
      unary_loop<T, typename T::value_type>(k, [](T a) { return std::abs(a); });
    } else {
      unary_loop<T, T>(k, AbsFormula());
    }
  });
}

template <class T>
TW_INLINE T direction(T a) {
  if constexpr (is_complex_type<T>) {
    auto size = std::abs(a);
    return size == 0 ? T(0) : a / size;
  } else {
    return DirectionFormula()(a);
  }
}

void sgn_kernel(KernelContext& k) {
  dispatch_all(k.in(0).dtype, k.op,
               [&]<class T>() { unary_loop<T, T>(k, [](compute_t<T> a) { return direction(a); }); });
}

void angle_kernel(KernelContext& k) {
  dispatch_all(k.in(0).dtype, k.op, [&]<class T>() {
    if constexpr (is_complex_type<T>) {
      unary_loop<T, typename T::value_type>(k, [](T a) { return std::arg(a); });
    } else if constexpr (is_float_type<T>) {
      unary_loop<T, T>(k, RealAngleFormula<compute_t<T>>());
    } else {
      dispatch_float(k.out().dtype, k.op,
                     [&]<class Out>() { unary_loop<T, Out>(k, RealAngleFormula<compute_t<Out>>()); });
    }
  });
}

}  // namespace

void kernels_magnitude(KernelTable& table) {
  table.add("abs", abs_kernel);
  table.add("sign", sgn_kernel);
  table.add("sgn", sgn_kernel);
  table.add("angle", angle_kernel);
}

}  // namespace tw::ops
