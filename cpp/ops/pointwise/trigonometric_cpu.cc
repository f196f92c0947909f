// One pass, 20 to 60 operations an element; the inverse functions of float compute in double.
#include "ops/complex_formula.h"
#include "ops/pointwise/function_kernels.h"

namespace tw::ops {

using namespace device;

namespace {

constexpr double kPi = 3.141592653589793;

struct Sin : math::Sin {
  static complex128 of_complex(const complex128& z) { return std::sin(z); }
};
struct Cos : math::Cos {
  static complex128 of_complex(const complex128& z) { return std::cos(z); }
};
struct Tan : math::Tan {
  static complex128 of_complex(const complex128& z) { return std::tan(z); }
};
TW_FUNCTION(Asin, math::asin(x), std::asin(z))
TW_FUNCTION(Acos, math::acos(x), std::acos(z))
TW_FUNCTION(Atan, math::atan(x), std::atan(z))
TW_FUNCTION(Sinh, math::sinh(x), std::sinh(z))
TW_FUNCTION(Cosh, math::cosh(x), std::cosh(z))
TW_FUNCTION(Tanh, math::tanh(x), std::tanh(z))
TW_FUNCTION(Asinh, math::asinh(x), std::asinh(z))
TW_FUNCTION(Acosh, math::acosh(x), std::acosh(z))
TW_FUNCTION(Atanh, math::atanh(x), std::atanh(z))

// Far from 0 the argument pi x is beyond where math::sin holds; the C library's sine is used throughout.
struct Sinc {
  template <class T>
  TW_INLINE T operator()(T x) const {
    T turn = T(kPi) * x;
    return x == T(0) ? T(1) : std::sin(turn) / turn;
  }
  static complex128 of_complex(const complex128& z) { return complex_sinc(z); }
};

struct Atan2 {
  template <class T>
  TW_INLINE T operator()(T y, T x) const {
    return math::atan2(y, x);
  }
};

void tanh_backward_kernel(KernelContext& k) {
  dispatch_float_complex(k.out().dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    binary_loop<T, T, T>(k, [](C g, C r) {
      if constexpr (is_complex_type<T>)
        return g * std::conj(C(1) - r * r);
      else
        return g * (C(1) - r * r);
    });
  });
}

}  // namespace

void kernels_trigonometric(KernelTable& table) {
  table.add("sin", unary_kernel<Sin>);
  table.add("cos", unary_kernel<Cos>);
  table.add("tan", unary_kernel<Tan>);
  table.add("asin", unary_kernel<Asin>);
  table.add("acos", unary_kernel<Acos>);
  table.add("atan", unary_kernel<Atan>);
  table.add("sinh", unary_kernel<Sinh>);
  table.add("cosh", unary_kernel<Cosh>);
  table.add("tanh", unary_kernel<Tanh>);
  table.add("asinh", unary_kernel<Asinh>);
  table.add("acosh", unary_kernel<Acosh>);
  table.add("atanh", unary_kernel<Atanh>);
  table.add("sinc", unary_kernel<Sinc>);
  table.add("atan2", binary_kernel<Atan2>);
  table.add("tanh_backward", tanh_backward_kernel);
}

}  // namespace tw::ops
