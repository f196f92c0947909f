// elu, silu, mish, softplus, logsigmoid and their gradients. Forward reads x and writes y, backward reads g
// and x and writes dx; 20 to 60 instructions an element. Floor: bytes over the bandwidth.
#include "cuda/common/functions.h"
#include "ops/activation/activations.h"

namespace tw::cuda {

using device::KernelContext;

namespace {

template <class C>
TW_DEVICE C silu_slope(C x) {
  C s = sigmoid_of(x);
  return s * (C(1) + x * (C(1) - s));
}
template <class C>
TW_DEVICE C mish_slope(C x) {
  C t = std::tanh(softplus_of(x));
  return t + x * sigmoid_of(x) * (C(1) - t * t);
}

TW_FUNCTION(Silu, x* sigmoid_of(x))
TW_FUNCTION(Mish, x* std::tanh(softplus_of(x)))
TW_FUNCTION(LogSigmoid, -softplus_of(-x))
TW_BINARY_FUNCTION(SiluBackward, g* silu_slope(x))
TW_BINARY_FUNCTION(MishBackward, g* mish_slope(x))
TW_BINARY_FUNCTION(LogSigmoidBackward, g* sigmoid_of(-x))

template <class C>
struct Elu {
  C scale, low, input_scale;
  TW_DEVICE C operator()(C x) const { return x > C(0) ? scale * x : low * std::expm1(x * input_scale); }
};
template <class C>
struct EluBackward {
  C scale, low, input_scale;
  TW_DEVICE C operator()(C g, C x) const { return g * (x > C(0) ? scale : low * std::exp(x * input_scale)); }
};
template <class C>
struct Softplus {
  C beta, threshold;
  TW_DEVICE C operator()(C x) const { return x * beta > threshold ? x : softplus_of(x * beta) / beta; }
};
template <class C>
struct SoftplusBackward {
  C beta, threshold;
  TW_DEVICE C operator()(C g, C x) const { return x * beta > threshold ? g : g * sigmoid_of(x * beta); }
};

void elu_kernel(KernelContext& k) {
  const auto& a = k.attrs<ops::CurveAttrs>();
  dispatch_float(k.out().dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    pointwise<T, T>(k, Elu<C>{C(a.q), C(a.p * a.q), C(a.r)});
  });
}
void elu_backward_kernel(KernelContext& k) {
  const auto& a = k.attrs<ops::CurveAttrs>();
  dispatch_float(k.out().dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    pointwise<T, T, T>(k, EluBackward<C>{C(a.q), C(a.p * a.q * a.r), C(a.r)});
  });
}
void softplus_kernel(KernelContext& k) {
  const auto& a = k.attrs<ops::CurveAttrs>();
  dispatch_float(k.out().dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    pointwise<T, T>(k, Softplus<C>{C(a.p), C(a.q)});
  });
}
void softplus_backward_kernel(KernelContext& k) {
  const auto& a = k.attrs<ops::CurveAttrs>();
  dispatch_float(k.out().dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    pointwise<T, T, T>(k, SoftplusBackward<C>{C(a.p), C(a.q)});
  });
}

}  // namespace

void kernels_smooth(device::KernelTable& table) {
  table.add("elu_of", elu_kernel);
  table.add("elu_backward", elu_backward_kernel);
  table.add("silu", unary_kernel<Silu>);
  table.add("silu_backward", binary_kernel<SiluBackward>);
  table.add("mish", unary_kernel<Mish>);
  table.add("mish_backward", binary_kernel<MishBackward>);
  table.add("softplus", softplus_kernel);
  table.add("softplus_backward", softplus_backward_kernel);
  table.add("logsigmoid", unary_kernel<LogSigmoid>);
  table.add("logsigmoid_backward", binary_kernel<LogSigmoidBackward>);
}

}  // namespace tw::cuda
