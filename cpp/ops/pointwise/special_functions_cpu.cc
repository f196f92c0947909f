// One pass. The gamma family is scalar.
#include <limits>

#include "device/cpu/cast.h"
#include "device/cpu/math_functions.h"
#include "ops/pointwise/function_kernels.h"
#include "ops/pointwise/special_functions_formula.h"

namespace tw::ops {

using namespace device;

namespace {

TW_REAL_FUNCTION(Erf, math::erf(x))
TW_REAL_FUNCTION(Erfc, math::erfc(x))
TW_REAL_FUNCTION(Erfinv, math::erfinv(x))
TW_FUNCTION(Sigmoid, math::sigmoid(x), 1.0 / (1.0 + std::exp(-z)))

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

// The sum of (k + q)^-s over k = 0, 1, ...: some terms, then Euler and Maclaurin's formula for the rest.
double zeta(double s, double q) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN(),
                   kInf = std::numeric_limits<double>::infinity();
  if (s == 1) return kInf;
  if (!(s > 1) || q != q) return kNan;
  if (q <= 0) {
    if (q == std::floor(q)) return kInf;
    if (s != std::floor(s)) return kNan;
  }
  double sum = 0, a = q;
  for (int i = 0; i < 9 || a <= 9; i++, a += 1) {
    double term = std::pow(a, -s);
    sum += term;
    if (std::abs(term) < sum * 1e-17) return sum;
  }
  sum += std::pow(a, 1 - s) / (s - 1) + 0.5 * std::pow(a, -s);
  // B(2j) / (2j)! with B the Bernoulli numbers
  constexpr double kCoefficients[] = {1.0 / 12,
                                      -1.0 / 720,
                                      1.0 / 30240,
                                      -1.0 / 1209600,
                                      1.0 / 47900160,
                                      -691.0 / 1307674368000.0,
                                      1.0 / 74724249600.0,
                                      -3617.0 / 10670622842880000.0,
                                      43867.0 / 5109094217170944000.0};
  double factor = s, power = std::pow(a, -s - 1);
  int j = 1;
  for (double coefficient : kCoefficients) {
    double term = coefficient * factor * power;
    sum += term;
    if (std::abs(term) < std::abs(sum) * 1e-17) break;
    factor *= (s + j) * (s + j + 1);
    power /= a * a;
    j += 2;
  }
  return sum;
}

double polygamma(int64_t n, double x) {
  if (n == 0) return math::digamma(x);
  double order = static_cast<double>(n);
  return (n % 2 ? 1 : -1) * std::exp(math::lgamma(order + 1)) * zeta(order + 1, x);
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
    return static_cast<T>(zeta(s, q));
  }
};

void polygamma_kernel(KernelContext& k) {
  int64_t n = k.attrs<PolygammaAttrs>().n;
  dispatch_float(k.out().dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    unary_loop<T, T>(k, [n](C x) { return static_cast<C>(polygamma(n, x)); });
  });
}

// What takes the place of the special values of T.
template <class C>
struct Replacement {
  C nan, high, low;
  TW_INLINE C operator()(C x) const {
    constexpr C kInf = std::numeric_limits<C>::infinity();
    return x != x ? nan : x == kInf ? high : x == -kInf ? low : x;
  }
};

template <class T>
double largest() {
  if constexpr (std::is_same_v<T, float16>)
    return 65504;
  else if constexpr (std::is_same_v<T, bfloat16>)
    return 0x1.FEp127;
  else
    return std::numeric_limits<T>::max();
}

void nan_to_num_kernel(KernelContext& k) {
  if (kind_of(k.in(0).dtype) <= DTypeKind::kInt) return copy_cast(k.out(), k.in(0));
  const auto& a = k.attrs<NanToNumAttrs>();
  dispatch_float_complex(k.out().dtype, k.op, [&]<class T>() {
    if constexpr (is_complex_type<T>) {
      using R = typename T::value_type;
      double top = largest<R>();
      Replacement<R> f{R(a.nan), R(a.posinf.value_or(top)), R(a.neginf.value_or(-top))};
      unary_loop<T, T>(k, [f](T z) { return T(f(z.real()), f(z.imag())); });
    } else {
      using C = compute_t<T>;
      double top = largest<T>();
      Replacement<C> f{C(a.nan), C(a.posinf.value_or(top)), C(a.neginf.value_or(-top))};
      unary_loop<T, T>(k, f);
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
