// Kernels of functions of one or two float elements.
//
//   TW_FUNCTION(Exp, math::exp(x), std::exp(z))   // the real and the complex form
//   table.add("exp", unary_kernel<Exp>);
//
// Real forms vectorise where what they call does. Complex ones compute in complex128, through a pointer: they
// are rare, call the C library anyway, and so share one loop a dtype.
#pragma once

#include <cmath>
#include <complex>

#include "device/cpu/loops.h"
#include "device/cpu/math.h"

namespace tw::ops {

#define TW_FUNCTION(NAME, REAL, COMPLEX)                                  \
  struct NAME {                                                           \
    template <class T>                                                    \
    TW_INLINE T operator()(T x) const {                                   \
      return REAL;                                                        \
    }                                                                     \
    static complex128 of_complex(const complex128& z) { return COMPLEX; } \
  };

#define TW_REAL_FUNCTION(NAME, REAL)    \
  struct NAME {                         \
    template <class T>                  \
    TW_INLINE T operator()(T x) const { \
      return REAL;                      \
    }                                   \
  };

namespace {

struct ComplexCall {
  complex128 (*function)(const complex128&);
  template <class T>
  TW_INLINE T operator()(T z) const {
    return T(function(complex128(z)));
  }
};

template <class F>
void unary_kernel(device::KernelContext& k) {
  if constexpr (requires { F::of_complex; }) {
    if (is_complex(k.out().dtype))
      return dispatch_complex(k.out().dtype, k.op,
                              [&]<class T>() { device::unary_loop<T, T>(k, ComplexCall{F::of_complex}); });
  }
  dispatch_float(k.out().dtype, k.op, [&]<class T>() { device::unary_loop<T, T>(k, F{}); });
}

// F is called with two elements of compute_t.
template <class F>
void binary_kernel(device::KernelContext& k) {
  dispatch_float(k.out().dtype, k.op, [&]<class T>() { device::binary_loop<T, T, T>(k, F{}); });
}

}  // namespace

}  // namespace tw::ops
