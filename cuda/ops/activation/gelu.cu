// gelu, its gradient, and both at once. Forward reads x and writes y, backward reads g and x and writes dx;
// some 30 flops an element. Floor: the operands' bytes over the bandwidth.
#include "ops/activation/gelu.h"

#include "cuda/common/functions.h"

namespace tw::cuda {

using device::KernelContext;

namespace {

constexpr double kDensityScale = 0.3989422804014327;  // 1/√(2π)
constexpr double kRootHalf = 0.7071067811865476;
constexpr double kTanhScale = 0.7978845608028654;  // √(2/π)
constexpr double kCubic = 0.044715;

// Φ(x), exact to rounding far from 0 too.
template <class C>
TW_DEVICE C distribution(C x) {
  return C(0.5) * std::erfc(-x * C(kRootHalf));
}
template <class C>
TW_DEVICE C slope(C x) {
  return distribution(x) + x * C(kDensityScale) * std::exp(C(-0.5) * x * x);
}
template <class C>
TW_DEVICE C tanh_inner(C x) {
  return std::tanh(C(kTanhScale) * (x + C(kCubic) * x * x * x));
}
template <class C>
TW_DEVICE C tanh_slope(C x) {
  C t = tanh_inner(x);
  return C(0.5) * (C(1) + t + x * (C(1) - t * t) * C(kTanhScale) * (C(1) + C(3 * kCubic) * x * x));
}

TW_FUNCTION(Gelu, x* distribution(x))
TW_FUNCTION(GeluTanh, C(0.5) * x * (C(1) + tanh_inner(x)))
TW_BINARY_FUNCTION(GeluBackward, g* slope(x))
TW_BINARY_FUNCTION(GeluTanhBackward, g* tanh_slope(x))

struct WithSlope {
  template <class C>
  TW_DEVICE Pair<C, C> operator()(C x) const {
    return {x * distribution(x), slope(x)};
  }
};

bool is_tanh_form(const KernelContext& k) { return k.attrs<ops::GeluAttrs>().approximate == "tanh"; }

void gelu_kernel(KernelContext& k) {
  return is_tanh_form(k) ? unary_kernel<GeluTanh>(k) : unary_kernel<Gelu>(k);
}
void gelu_backward_kernel(KernelContext& k) {
  return is_tanh_form(k) ? binary_kernel<GeluTanhBackward>(k) : binary_kernel<GeluBackward>(k);
}
void gelu_with_slope_kernel(KernelContext& k) {
  dispatch_float(k.out().dtype, k.op, [&]<class T>() {
    pointwise_over(Types<T, T>{}, Types<T>{}, {&k.out(0), &k.out(1)}, {&k.in(0)}, k.op, WithSlope());
  });
}

}  // namespace

void kernels_gelu(device::KernelTable& table) {
  table.add("gelu", gelu_kernel);
  table.add("gelu_backward", gelu_backward_kernel);
  table.add("gelu_with_slope", gelu_with_slope_kernel);
}

}  // namespace tw::cuda
