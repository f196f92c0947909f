// One pass each, 20 to 60 operations an element; forward reads x, backward g and x.
#include "device/cpu/loops.h"
#include "device/cpu/math_functions.h"
#include "ops/activation/smooth_formula.h"

namespace tw::ops {

using namespace device;

namespace {

template <template <class> class F>
void forward_kernel(KernelContext& k) {
  dispatch_float(k.out().dtype, k.op, [&]<class T>() { unary_loop<T, T>(k, F<math::Functions>()); });
}
template <template <class> class F>
void backward_kernel(KernelContext& k) {
  dispatch_float(k.out().dtype, k.op, [&]<class T>() { binary_loop<T, T, T>(k, F<math::Functions>()); });
}

// Shaped by numbers.
template <template <class, class> class F, bool kBackward>
void curve_kernel(KernelContext& k) {
  dispatch_float(k.out().dtype, k.op, [&]<class T>() {
    auto f = F<math::Functions, compute_t<T>>::of(k.attrs<CurveAttrs>());
    if constexpr (kBackward)
      binary_loop<T, T, T>(k, f);
    else
      unary_loop<T, T>(k, f);
  });
}

}  // namespace

void kernels_smooth(KernelTable& table) {
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

}  // namespace tw::ops
