// erf, erfc, erfinv, sigmoid, logit, nan_to_num; lgamma, digamma, polygamma, zeta. Bytes: the operands' once;
// 10 to 60 instructions an element. Floor: bytes over the bandwidth. The gamma family computes in double,
// some 100 to 1000 instructions an element: the rate of fp64 is its floor.
//
// Per element: 8 bytes and 30 operations (erf, float32).
#include "cuda/common/copy.h"
#include "cuda/common/functions.h"
#include "ops/complex_formula.h"
#include "ops/pointwise/special_functions_formula.h"

namespace tw::cuda {

using device::KernelContext;

namespace {

TW_FUNCTION(Erf, std::erf(x))
TW_FUNCTION(Erfc, std::erfc(x))
TW_FUNCTION(Erfinv, Functions::erfinv(x))
TW_FUNCTION(Lgamma, std::lgamma(x))
TW_FUNCTION(Digamma, static_cast<C>(digamma(static_cast<double>(x))))
TW_BINARY_FUNCTION(Zeta, static_cast<C>(zeta(static_cast<double>(g), static_cast<double>(x))))
TW_COMPLEX_FUNCTION(Sigmoid, Functions::sigmoid(x), ops::complex_sigmoid(z))

struct SigmoidBackward {
  template <class C>
  TW_DEVICE C operator()(C g, C result) const {
    if constexpr (is_device_complex<C>)
      return g * conjugate((C{1, 0} - result) * result);
    else
      return g * ops::sigmoid_slope(result);
  }
};
void sigmoid_backward_kernel(KernelContext& k) {
  dispatch_float_or_complex(k.out().dtype, k.op,
                            [&]<class T>() { pointwise<T, T, T>(k, SigmoidBackward()); });
}

void logit_kernel(KernelContext& k) {
  const auto& a = k.attrs<ops::LogitAttrs>();
  dispatch_float(k.out().dtype, k.op,
                 [&]<class T>() { pointwise<T, T>(k, ops::LogitFormula<Functions, compute_t<T>>::of(a)); });
}

void polygamma_kernel(KernelContext& k) {
  auto formula = ops::PolygammaFormula::of(k.attrs<ops::PolygammaAttrs>());
  dispatch_float(k.out().dtype, k.op, [&]<class T>() { pointwise<T, T>(k, formula); });
}

template <class R>
struct ReplaceParts {
  ops::ReplacementFormula<R> of_part;
  TW_DEVICE Complex<R> operator()(Complex<R> z) const { return {of_part(z.re), of_part(z.im)}; }
};

void nan_to_num_kernel(KernelContext& k) {
  if (kind_of(k.in(0).dtype) <= DTypeKind::kInt) return copy_cast(k.out(), k.in(0), k.op);
  const auto& a = k.attrs<ops::NanToNumAttrs>();
  dispatch_float_or_complex(k.out().dtype, k.op, [&]<class T>() {
    if constexpr (is_device_complex<T>) {
      using R = decltype(T::re);
      pointwise<T, T>(k, ReplaceParts<R>{ops::ReplacementFormula<R>::of(a)});
    } else {
      pointwise<T, T>(k, ops::ReplacementFormula<T>::of(a));
    }
  });
}

}  // namespace

void kernels_special_functions(device::KernelTable& table) {
  table.add("erf", unary_kernel<Erf>);
  table.add("erfc", unary_kernel<Erfc>);
  table.add("erfinv", unary_kernel<Erfinv>);
  table.add("lgamma", unary_kernel<Lgamma>);
  table.add("digamma", unary_kernel<Digamma>);
  table.add("polygamma_of", polygamma_kernel);
  table.add("special_zeta", binary_kernel<Zeta>);
  table.add("nan_to_num", nan_to_num_kernel);
  table.add("sigmoid", unary_kernel<Sigmoid>);
  table.add("sigmoid_backward", sigmoid_backward_kernel);
  table.add("logit", logit_kernel);
}

}  // namespace tw::cuda
