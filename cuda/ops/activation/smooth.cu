// elu, silu, mish, softplus, logsigmoid and their gradients. Forward reads x and writes y, backward reads g
// and x and writes dx; 20 to 60 instructions an element. Floor: bytes over the bandwidth.
//
// Per element: 8 bytes and 20 operations (silu, float32).
#include "cuda/common/functions.h"
#include "ops/activation/smooth_formula.h"

namespace tw::cuda {

namespace {

template <template <class> class F>
void forward_kernel(device::KernelContext& k) {
  unary_kernel<F<Functions>>(k);
}
template <template <class> class F>
void backward_kernel(device::KernelContext& k) {
  binary_kernel<F<Functions>>(k);
}

// Shaped by numbers.
template <template <class, class> class F, bool kBackward>
void curve_kernel(device::KernelContext& k) {
  dispatch_float(k.out().dtype, k.op, [&]<class T>() {
    auto f = F<Functions, compute_t<T>>::of(k.attrs<ops::CurveAttrs>());
    if constexpr (kBackward)
      pointwise<T, T, T>(k, f);
    else
      pointwise<T, T>(k, f);
  });
}

}  // namespace

void kernels_smooth(device::KernelTable& table) {
  using namespace ops;
  table.add("elu_of", curve_kernel<EluFormula, false>);
  table.add("elu_backward", curve_kernel<EluBackwardFormula, true>);
  table.add("silu", forward_kernel<SiluFormula>);
  table.add("silu_backward", backward_kernel<SiluBackwardFormula>);
  table.add("mish", forward_kernel<MishFormula>);
  table.add("mish_backward", backward_kernel<MishBackwardFormula>);
  table.add("softplus", curve_kernel<SoftplusFormula, false>);
  table.add("softplus_backward", curve_kernel<SoftplusBackwardFormula, true>);
  table.add("logsigmoid", forward_kernel<LogSigmoidFormula>);
  table.add("logsigmoid_backward", backward_kernel<LogSigmoidBackwardFormula>);
}

}  // namespace tw::cuda
