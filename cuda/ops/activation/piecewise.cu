// relu, threshold, leaky_relu, hardtanh, hardsigmoid, hardswish, hardshrink, softshrink, prelu and their
// gradients. Bytes: the operands' once; a few instructions an element. Floor: bytes over the bandwidth.
#include "cuda/common/functions.h"
#include "ops/activation/activations.h"

namespace tw::cuda {

using device::KernelContext;

namespace {

// A function of x shaped by two numbers, and the slope's: NAME<C>{p, q}.
#define TW_CURVE(NAME, ...)                                   \
  template <class C>                                          \
  struct NAME {                                               \
    C p, q;                                                   \
    TW_DEVICE C operator()(C x) const { return __VA_ARGS__; } \
  };
#define TW_SLOPE(NAME, ...)                                        \
  template <class C>                                               \
  struct NAME {                                                    \
    C p, q;                                                        \
    TW_DEVICE C operator()(C g, C x) const { return __VA_ARGS__; } \
  };

template <class C>
TW_DEVICE C hard_step(C x) {  // relu6(x + 3) / 6
  C y = x + C(3);
  y = y < C(0) ? C(0) : y;
  return (y > C(6) ? C(6) : y) * C(1.0 / 6);
}

// NaN is handed on.
TW_CURVE(Relu, x < C(0) ? C(0) : x)
TW_CURVE(Threshold, x <= p ? q : x)
TW_SLOPE(ThresholdBackward, x <= p ? C(0) : g)
TW_CURVE(LeakyRelu, x > 0 ? x : p * x)
TW_SLOPE(LeakyReluBackward, x > 0 ? g : p * g)
TW_CURVE(HardTanh, x<p ? p : x> q ? q : x)
TW_SLOPE(HardTanhBackward, x <= p || x >= q ? C(0) : g)
TW_CURVE(HardSigmoid, hard_step(x))
TW_SLOPE(HardSigmoidBackward, x > C(-3) && x < C(3) ? g * C(1.0 / 6) : C(0))
TW_CURVE(HardSwish, x* hard_step(x))
TW_SLOPE(HardSwishBackward, x <= C(-3) ? C(0) : x < C(3) ? g * (x * C(1.0 / 3) + C(0.5)) : g)
TW_CURVE(HardShrink, x >= -p && x <= p ? C(0) : x)
TW_CURVE(SoftShrink, x > p ? x - p : x < -p ? x + p : x * C(0))
TW_SLOPE(ShrinkBackward, x >= -p && x <= p ? C(0) : g)
TW_BINARY_FUNCTION(Prelu, g > C(0) ? g : x * g)

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
  table.add("relu", curve<Relu, false, true>);
  table.add("threshold", curve<Threshold, false, true>);
  table.add("threshold_backward", curve<ThresholdBackward, true, true>);
  table.add("leaky_relu", curve<LeakyRelu, false, false>);
  table.add("leaky_relu_backward", curve<LeakyReluBackward, true, false>);
  table.add("hardtanh", curve<HardTanh, false, true>);
  table.add("hardtanh_backward", curve<HardTanhBackward, true, true>);
  table.add("hardsigmoid", curve<HardSigmoid, false, false>);
  table.add("hardsigmoid_backward", curve<HardSigmoidBackward, true, false>);
  table.add("hardswish", curve<HardSwish, false, false>);
  table.add("hardswish_backward", curve<HardSwishBackward, true, false>);
  table.add("hardshrink", curve<HardShrink, false, false>);
  table.add("softshrink", curve<SoftShrink, false, false>);
  table.add("shrink_backward", curve<ShrinkBackward, true, false>);
  table.add("prelu_of", binary_kernel<Prelu>);
}

}  // namespace tw::cuda
