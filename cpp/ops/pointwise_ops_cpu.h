// The loops of the CPU for kernels that are made of formulas; see pointwise_ops.h. Complex forms go through a
// pointer: they are rare, call the C library anyway, and so share one loop a dtype.
#pragma once

#include "device/cpu/loops.h"
#include "device/cpu/math_functions.h"
#include "ops/pointwise_ops.h"

namespace tw::ops {

namespace {

template <class... Z>
struct ComplexCall {
  complex128 (*function)(const Z&...);
  template <class... T>
  TW_INLINE auto operator()(T... z) const
    requires(sizeof...(T) == sizeof...(Z))
  {
    return std::common_type_t<T...>(function(complex128(z)...));
  }
};

// In an unnamed namespace, as TW_CLONES wants.
struct CpuLoops {
  using Functions = math::Functions;
  using Complex = complex128;

  template <class Out, class... In, class F>
  static void run(device::KernelContext& k, const F& f) {
    if constexpr (sizeof...(In) == 1)
      device::unary_loop<In..., Out>(k, f);
    else if constexpr (sizeof...(In) == 2)
      device::binary_loop<In..., Out>(k, f);
    else
      device::ternary_loop<In..., Out>(k, f);
  }
  template <class F>
  static void run_of_complex(device::KernelContext& k) {
    if constexpr (requires(Complex z) { F::of_complex(z); })
      run_call(k, ComplexCall<Complex>{[](const Complex& z) { return F::of_complex(z); }});
    else
      run_call(k, ComplexCall<Complex, Complex>{
                      [](const Complex& a, const Complex& b) { return F::of_complex(a, b); }});
  }
  template <class Body>
  static void with_complex(DType dtype, const char* op, const Body& body) {
    dispatch_complex(dtype, op, body);
  }

 private:
  template <class Call>
  static void run_call(device::KernelContext& k, const Call& call) {
    dispatch_complex(k.out().dtype, k.op, [&]<class T>() { run_formula<CpuLoops, T>(k, call); });
  }
};

}  // namespace

}  // namespace tw::ops
