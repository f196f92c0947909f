// One function of an element: reads and writes it once, 20 to 60 instructions. Floor: bytes over the
// bandwidth.
//
// Per element: 8 bytes and 30 operations (sin, float32).
#include "cuda/common/functions.h"
#include "ops/complex_formula.h"

namespace tw::cuda {

namespace {

TW_COMPLEX_FUNCTION(Sin, std::sin(x), sin(z))
TW_COMPLEX_FUNCTION(Cos, std::cos(x), cos(z))
TW_COMPLEX_FUNCTION(Tan, std::tan(x), tan(z))
TW_COMPLEX_FUNCTION(Asin, std::asin(x), asin(z))
TW_COMPLEX_FUNCTION(Acos, std::acos(x), acos(z))
TW_COMPLEX_FUNCTION(Atan, std::atan(x), atan(z))
TW_COMPLEX_FUNCTION(Sinh, std::sinh(x), sinh(z))
TW_COMPLEX_FUNCTION(Cosh, std::cosh(x), cosh(z))
TW_COMPLEX_FUNCTION(Tanh, std::tanh(x), tanh(z))
TW_COMPLEX_FUNCTION(Asinh, std::asinh(x), asinh(z))
TW_COMPLEX_FUNCTION(Acosh, std::acosh(x), acosh(z))
TW_COMPLEX_FUNCTION(Atanh, std::atanh(x), atanh(z))
TW_BINARY_FUNCTION(Atan2, std::atan2(g, x))

struct Sinc {
  template <class C>
  TW_DEVICE C operator()(C x) const {
    C turn = C(3.141592653589793) * x;
    return x == C(0) ? C(1) : std::sin(turn) / turn;
  }
  TW_DEVICE static WideComplex of_complex(WideComplex z) { return ops::complex_sinc(z); }
};

struct TanhBackward {
  template <class C>
  TW_DEVICE C operator()(C g, C result) const {
    if constexpr (is_device_complex<C>)
      return g * conjugate(C{1, 0} - result * result);
    else
      return g * (C(1) - result * result);
  }
};
void tanh_backward_kernel(device::KernelContext& k) {
  dispatch_float_or_complex(k.out().dtype, k.op, [&]<class T>() { pointwise<T, T, T>(k, TanhBackward()); });
}

}  // namespace

void kernels_trigonometric(device::KernelTable& table) {
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

}  // namespace tw::cuda
