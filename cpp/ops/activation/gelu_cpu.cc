// One pass; forward reads x and writes y, backward reads g and x. Floor: their bytes over the bandwidth.
#include "device/cpu/loops.h"
#include "device/cpu/math.h"
#include "ops/activation/gelu.h"

namespace tw::ops {

using namespace device;

namespace {

constexpr double kDensityScale = 0.3989422804014327;  // 1/√(2π)
constexpr double kTanhScale = 0.7978845608028654;     // √(2/π)
constexpr double kCubic = 0.044715;

// x Φ(x) is x, or 0 for negative x, less |x| times the tail of the distribution beyond |x|.
template <class C>
TW_INLINE C gelu(C x, const math::NormalTail<C>& t) {
  C bent = x < C(0) ? C(0) : x;
  return bent - t.size * t.bell * t.mills;
}

// Φ(x) + x φ(x) is 1, or 0 for negative x, but for the tail less |x| φ(x).
template <class C>
TW_INLINE C gelu_derivative(C x, const math::NormalTail<C>& t) {
  C rest = t.bell * (t.mills - C(kDensityScale) * t.size);
  return x < C(0) ? rest : C(1) - rest;
}

void gelu_kernel(KernelContext& k) {
  bool tanh_form = k.attrs<GeluAttrs>().approximate == "tanh";
  dispatch_float(k.out().dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    if (tanh_form) {
      unary_loop<T, T>(k, [](C x) {
        C inner = C(kTanhScale) * (x + C(kCubic) * x * x * x);
        return C(0.5) * x * (C(1) + math::tanh(inner));
      });
    } else {
      unary_loop<T, T>(k, [](C x) { return gelu(x, math::normal_tail(x)); });
    }
  });
}

void gelu_backward_kernel(KernelContext& k) {
  bool tanh_form = k.attrs<GeluAttrs>().approximate == "tanh";
  dispatch_float(k.out().dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    if (tanh_form) {
      binary_loop<T, T, T>(k, [](C g, C x) {
        C t = math::tanh(C(kTanhScale) * (x + C(kCubic) * x * x * x));
        C inner = C(kTanhScale) * (C(1) + C(3 * kCubic) * x * x);
        return g * C(0.5) * (C(1) + t + x * (C(1) - t * t) * inner);
      });
    } else {
      binary_loop<T, T, T>(k, [](C g, C x) { return g * gelu_derivative(x, math::normal_tail(x)); });
    }
  });
}

// The tail is what both are made of.
void gelu_with_slope_kernel(KernelContext& k) {
  dispatch_float(k.out().dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    pointwise_loop(Types<T, T>{}, Types<T>{}, {&k.out(0), &k.out(1)}, {&k.in(0)}, [](C x) {
      math::NormalTail<C> t = math::normal_tail(x);
      return std::pair(gelu(x, t), gelu_derivative(x, t));
    });
  });
}

}  // namespace

void kernels_gelu(KernelTable& table) {
  table.add("gelu", gelu_kernel);
  table.add("gelu_backward", gelu_backward_kernel);
  table.add("gelu_with_slope", gelu_with_slope_kernel);
}

}  // namespace tw::ops
