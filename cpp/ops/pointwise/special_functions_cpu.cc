// One pass. The gamma family is scalar.
#include "device/cpu/cast.h"
#include "device/cpu/math_functions.h"
#include "ops/complex_formula.h"
#include "ops/pointwise/function_kernels.h"
#include "ops/pointwise/special_functions_formula.h"

namespace tw::ops {

using namespace device;

namespace {

TW_REAL_FUNCTION(Erf, math::erf(x))
TW_REAL_FUNCTION(Erfc, math::erfc(x))
TW_REAL_FUNCTION(Erfinv, math::erfinv(x))
TW_FUNCTION(Sigmoid, math::sigmoid(x), complex_sigmoid(z))

void sigmoid_backward_kernel(KernelContext& k) {
  dispatch_float_complex(k.out().dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    binary_loop<T, T, T>(k, [](C g, C r) {
      if constexpr (is_complex_type<T>)
        return g * std::conj(sigmoid_slope(r));
      else
        return g * sigmoid_slope(r);
    });
  });
}

void logit_kernel(KernelContext& k) {
  const auto& a = k.attrs<LogitAttrs>();
  dispatch_float(k.out().dtype, k.op,
                 [&]<class T>() { unary_loop<T, T>(k, LogitFormula<math::Functions, compute_t<T>>::of(a)); });
}

struct Lgamma {
  template <class T>
  T operator()(T x) const {
    return math::lgamma(x);
  }
};
struct Digamma {
  template <class T>
  T operator()(T x) const {
    return math::digamma(x);
  }
};
struct Zeta {
  template <class T>
  T operator()(T s, T q) const {
    return static_cast<T>(tw::zeta(s, q));
  }
};

void polygamma_kernel(KernelContext& k) {
  auto formula = PolygammaFormula::of(k.attrs<PolygammaAttrs>());
  dispatch_float(k.out().dtype, k.op, [&]<class T>() { unary_loop<T, T>(k, formula); });
}

void nan_to_num_kernel(KernelContext& k) {
  if (kind_of(k.in(0).dtype) <= DTypeKind::kInt) return copy_cast(k.out(), k.in(0));
  const auto& a = k.attrs<NanToNumAttrs>();
  dispatch_float_complex(k.out().dtype, k.op, [&]<class T>() {
    if constexpr (is_complex_type<T>) {
      auto f = ReplacementFormula<typename T::value_type>::of(a);
      unary_loop<T, T>(k, [f](T z) { return T(f(z.real()), f(z.imag())); });
    } else {
      unary_loop<T, T>(k, ReplacementFormula<T>::of(a));
    }
  });
}

}  // namespace

void kernels_special_functions(KernelTable& table) {
  table.add("erf", unary_kernel<Erf>);
  table.add("erfc", unary_kernel<Erfc>);
  table.add("erfinv", unary_kernel<Erfinv>);
  table.add("sigmoid", unary_kernel<Sigmoid>);
  table.add("sigmoid_backward", sigmoid_backward_kernel);
  table.add("logit", logit_kernel);
  table.add("lgamma", unary_kernel<Lgamma>);
  table.add("digamma", unary_kernel<Digamma>);
  table.add("polygamma_of", polygamma_kernel);
  table.add("special_zeta", binary_kernel<Zeta>);
  table.add("nan_to_num", nan_to_num_kernel);
}

}  // namespace tw::ops
