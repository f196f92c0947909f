// erf, erfc, sigmoid, logit, lgamma. Bytes: the operands' once; 10 to 60 instructions an element, lgamma
// more. Floor: bytes over the bandwidth.
//
// Per element: 8 bytes and 30 operations (erf, float32).
#include "cuda/common/functions.h"
#include "ops/pointwise/special_functions_formula.h"

namespace tw::cuda {

using device::KernelContext;

namespace {

TW_FUNCTION(Erf, std::erf(x))
TW_FUNCTION(Erfc, std::erfc(x))
TW_FUNCTION(Lgamma, std::lgamma(x))
TW_FUNCTION(Sigmoid, Functions::sigmoid(x))
TW_BINARY_FUNCTION(SigmoidBackward, g* ops::sigmoid_slope(x))

void logit_kernel(KernelContext& k) {
  const auto& a = k.attrs<ops::LogitAttrs>();
  dispatch_float(k.out().dtype, k.op,
                 [&]<class T>() { pointwise<T, T>(k, ops::LogitFormula<Functions, compute_t<T>>::of(a)); });
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
