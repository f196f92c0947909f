// erf, erfc, sigmoid, logit, lgamma. Bytes: the operands' once; 10 to 60 instructions an element, lgamma
// more. Floor: bytes over the bandwidth.
#include "ops/pointwise/special_functions.h"

#include <limits>

#include "cuda/common/functions.h"

namespace tw::cuda {

using device::KernelContext;

namespace {

TW_FUNCTION(Erf, std::erf(x))
TW_FUNCTION(Erfc, std::erfc(x))
TW_FUNCTION(Lgamma, std::lgamma(x))
TW_FUNCTION(Sigmoid, sigmoid_of(x))
TW_BINARY_FUNCTION(SigmoidBackward, g*((C(1) - x) * x))

template <class C>
struct Logit {
  C low, high;
  TW_DEVICE C operator()(C p) const {
    p = p < low ? low : p > high ? high : p;
    return std::log(p / (C(1) - p));
  }
};

void logit_kernel(KernelContext& k) {
  double eps = k.attrs<ops::LogitAttrs>().eps.value_or(-1);
  dispatch_float(k.out().dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    constexpr C kInfinity = std::numeric_limits<C>::infinity();
    pointwise<T, T>(k, Logit<C>{eps < 0 ? -kInfinity : C(eps), eps < 0 ? kInfinity : C(1) - C(eps)});
  });
}

}  // namespace

void kernels_special_functions(device::KernelTable& table) {
  table.add("erf", unary_kernel<Erf>);
  table.add("erfc", unary_kernel<Erfc>);
  table.add("lgamma", unary_kernel<Lgamma>);
  table.add("sigmoid", unary_kernel<Sigmoid>);
  table.add("sigmoid_backward", binary_kernel<SigmoidBackward>);
  table.add("logit", logit_kernel);
}

}  // namespace tw::cuda
