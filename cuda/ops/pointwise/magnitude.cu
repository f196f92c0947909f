// abs, sign, sgn, angle. Bytes: the operands' once. Floor: bytes over the bandwidth.
//
// Per element: 8 bytes and 1 operation (abs, float32).
#include <cmath>

#include "cuda/common/complex.h"
#include "cuda/common/pointwise.h"
#include "ops/pointwise/magnitude_formula.h"

namespace tw::cuda {

using device::KernelContext;

namespace {

struct Size {
  template <class R>
  TW_DEVICE R operator()(Complex<R> z) const {
    return std::hypot(z.re, z.im);
  }
};
struct Direction {
  template <class R>
  TW_DEVICE Complex<R> operator()(Complex<R> z) const {
    R size = std::hypot(z.re, z.im);
    return size == 0 ? Complex<R>{0, 0} : Complex<R>{z.re / size, z.im / size};
  }
};
struct Angle {
  template <class R>
  TW_DEVICE R operator()(Complex<R> z) const {
    return std::atan2(z.im, z.re);
  }
};

void abs_kernel(KernelContext& k) {
  dispatch_numbers(k.in(0).dtype, k.op, [&]<class T>() {
    if constexpr (is_device_complex<T>)
      pointwise<T, decltype(T::re)>(k, Size());
    else
      pointwise<T, T>(k, ops::AbsFormula());
  });
}
void sgn_kernel(KernelContext& k) {
  dispatch_elements(k.in(0).dtype, k.op, [&]<class T>() {
    if constexpr (is_device_complex<T>)
      pointwise<T, T>(k, Direction());
    else
      pointwise<T, T>(k, ops::DirectionFormula());
  });
}

// Integers have an angle in the default dtype.
void angle_kernel(KernelContext& k) {
  DType in = k.in(0).dtype;
  if (kind_of(in) > DTypeKind::kInt)
    return dispatch_float_or_complex(in, k.op, [&]<class T>() {
      if constexpr (is_device_complex<T>)
        pointwise<T, decltype(T::re)>(k, Angle());
      else
        pointwise<T, T>(k, ops::RealAngleFormula<compute_t<T>>());
    });
  dispatch_int_bool(in, k.op, [&]<class T>() {
    dispatch_float(k.out().dtype, k.op,
                   [&]<class Out>() { pointwise<T, Out>(k, ops::RealAngleFormula<compute_t<Out>>()); });
  });
}

}  // namespace

void kernels_magnitude(device::KernelTable& table) {
  table.add("abs", abs_kernel);
  table.add("sign", sgn_kernel);
  table.add("sgn", sgn_kernel);
  table.add("angle", angle_kernel);
}

}  // namespace tw::cuda
