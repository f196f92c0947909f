// One pass; forward reads x and writes y, backward reads g and x. Floor: their bytes over the bandwidth.
#include "device/cpu/loops.h"
#include "device/cpu/math.h"
#include "ops/activation/gelu.h"

namespace tw::ops {

using namespace device;

namespace {

constexpr double kRootHalf = 0.7071067811865476;      // √½
constexpr double kDensityScale = 0.3989422804014327;  // 1/√(2π)
constexpr double kTanhScale = 0.7978845608028654;     // √(2/π)
constexpr double kCubic = 0.044715;

// The standard normal distribution at x.
template <class C>
struct Normal {
  C density, cdf;
};

// In float one exponential gives both: the tail beyond |x| is it times a smooth function. 1.5 units of the
// last place of the cdf, and of the tail for negative x, but for what x² loses by rounding in the
// exponential.
TW_INLINE Normal<float> standard_normal(float x) {
  float a = math::detail::abs(x), e = math::exp_nonpositive(-0.5f * x * x);
  float t = 1 / (a + 4), u = 1 - 8 * t;  // (a - 4) / (a + 4)
  float tail = e * (t * math::detail::polynomial(u, math::detail::kNormalTailFloat));
  return {float(kDensityScale) * e, x < 0 ? tail : 1 - tail};
}

TW_INLINE Normal<double> standard_normal(double x) {
  return {kDensityScale * math::exp(-0.5 * x * x), 0.5 * (1 + math::erf(x * kRootHalf))};
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
      unary_loop<T, T>(k, [](C x) { return x * standard_normal(x).cdf; });
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
      binary_loop<T, T, T>(k, [](C g, C x) {
        Normal<C> normal = standard_normal(x);
        return g * (normal.cdf + x * normal.density);
      });
    }
  });
}

}  // namespace

void kernels_gelu(KernelTable& table) {
  table.add("gelu", gelu_kernel);
  table.add("gelu_backward", gelu_backward_kernel);
}

}  // namespace tw::ops
