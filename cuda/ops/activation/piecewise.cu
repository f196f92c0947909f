// relu, threshold, leaky_relu, hardtanh, hardsigmoid, hardswish, hardshrink, softshrink, prelu and their
// gradients. Bytes: the operands' once; a few instructions an element. Floor: bytes over the bandwidth.
//
// Per element: 8 bytes and 1 operation (relu, float32).
#include "cuda/common/functions.h"
#include "ops/activation/activations.h"
#include "ops/activation/piecewise_formula.h"

namespace tw::cuda {

using device::KernelContext;

namespace {

// Of the input, or of a gradient and the input; of floats, or of integers too.
template <template <class> class F, bool kBinary, bool kIntegers>
void curve(KernelContext& k) {
  const auto* a = static_cast<const ops::CurveAttrs*>(k.attributes);
  auto body = [&]<class T>() {
    using C = compute_t<T>;
    F<C> f{static_cast<C>(a ? a->p : 0), static_cast<C>(a ? a->q : 0)};
    if constexpr (kBinary)
      pointwise<T, T, T>(k, f);
    else
      pointwise<T, T>(k, f);
  };
  if constexpr (kIntegers)
    dispatch_real(k.out().dtype, k.op, body);
  else
    dispatch_float(k.out().dtype, k.op, body);
}

}  // namespace

void kernels_piecewise(device::KernelTable& table) {
  using namespace ops;
  table.add("relu", curve<ReluFormula, false, true>);
  table.add("threshold", curve<ThresholdFormula, false, true>);
  table.add("threshold_backward", curve<ThresholdBackwardFormula, true, true>);
  table.add("leaky_relu", curve<LeakyReluFormula, false, false>);
  table.add("leaky_relu_backward", curve<LeakyReluBackwardFormula, true, false>);
  table.add("hardtanh", curve<HardTanhFormula, false, true>);
  table.add("hardtanh_backward", curve<HardTanhBackwardFormula, true, true>);
  table.add("hardsigmoid", curve<HardSigmoidFormula, false, false>);
  table.add("hardsigmoid_backward", curve<HardSigmoidBackwardFormula, true, false>);
  table.add("hardswish", curve<HardSwishFormula, false, false>);
  table.add("hardswish_backward", curve<HardSwishBackwardFormula, true, false>);
  table.add("hardshrink", curve<HardShrinkFormula, false, false>);
  table.add("softshrink", curve<SoftShrinkFormula, false, false>);
  table.add("shrink_backward", curve<ShrinkBackwardFormula, true, false>);
  table.add("prelu_of", binary_kernel<PreluFormula>);
}

}  // namespace tw::cuda
