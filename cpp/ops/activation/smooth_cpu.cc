// One pass each, 20 to 60 operations an element; forward reads x, backward g and x.
#include "device/cpu/loops.h"
#include "device/cpu/math.h"
#include "ops/activation/activations.h"

namespace tw::ops {

using namespace device;

namespace {

void elu_kernel(KernelContext& k) {
  const auto& a = k.attrs<CurveAttrs>();
  dispatch_float(k.out().dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    C scale = C(a.q), low = C(a.p * a.q), input_scale = C(a.r);
    unary_loop<T, T>(k, [=](C x) {
      C bent = low * math::expm1(x * input_scale);
      return x > C(0) ? scale * x : bent;
    });
  });
}
void elu_backward_kernel(KernelContext& k) {
  const auto& a = k.attrs<CurveAttrs>();
  dispatch_float(k.out().dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    C scale = C(a.q), low = C(a.p * a.q * a.r), input_scale = C(a.r);
    binary_loop<T, T, T>(k, [=](C g, C x) {
      C bent = low * math::exp(x * input_scale);
      return g * (x > C(0) ? scale : bent);
    });
  });
}

struct Silu {
  template <class C>
  TW_INLINE C operator()(C x) const {
    return x * math::sigmoid(x);
  }
};
struct SiluBackward {
  template <class C>
  TW_INLINE C operator()(C g, C x) const {
    C s = math::sigmoid(x);
    return g * (s * (C(1) + x * (C(1) - s)));
  }
};
struct Mish {
  template <class C>
  TW_INLINE C operator()(C x) const {
    return x * math::tanh(math::softplus(x));
  }
};
struct MishBackward {
  template <class C>
  TW_INLINE C operator()(C g, C x) const {
    C t = math::tanh(math::softplus(x));
    return g * (t + x * math::sigmoid(x) * (C(1) - t * t));
  }
};
struct LogSigmoid {
  template <class C>
  TW_INLINE C operator()(C x) const {
    return math::log_sigmoid(x);
  }
};
struct LogSigmoidBackward {
  template <class C>
  TW_INLINE C operator()(C g, C x) const {
    return g * math::sigmoid(-x);
  }
};

template <class F>
void forward_kernel(KernelContext& k) {
  dispatch_float(k.out().dtype, k.op, [&]<class T>() { unary_loop<T, T>(k, F{}); });
}
template <class F>
void backward_kernel(KernelContext& k) {
  dispatch_float(k.out().dtype, k.op, [&]<class T>() { binary_loop<T, T, T>(k, F{}); });
}

void softplus_kernel(KernelContext& k) {
  const auto& a = k.attrs<CurveAttrs>();
  dispatch_float(k.out().dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    C beta = C(a.p), threshold = C(a.q);
    unary_loop<T, T>(k, [=](C x) {
      C z = x * beta, y = math::softplus(z) / beta;
      return z > threshold ? x : y;
    });
  });
}
void softplus_backward_kernel(KernelContext& k) {
  const auto& a = k.attrs<CurveAttrs>();
  dispatch_float(k.out().dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    C beta = C(a.p), threshold = C(a.q);
    binary_loop<T, T, T>(k, [=](C g, C x) {
      C z = x * beta, y = g * math::sigmoid(z);
      return z > threshold ? g : y;
    });
  });
}

}  // namespace

void kernels_smooth(KernelTable& table) {
  table.add("elu_of", elu_kernel);
  table.add("elu_backward", elu_backward_kernel);
  table.add("silu", forward_kernel<Silu>);
  table.add("silu_backward", backward_kernel<SiluBackward>);
  table.add("mish", forward_kernel<Mish>);
  table.add("mish_backward", backward_kernel<MishBackward>);
  table.add("softplus", softplus_kernel);
  table.add("softplus_backward", softplus_backward_kernel);
  table.add("logsigmoid", forward_kernel<LogSigmoid>);
  table.add("logsigmoid_backward", backward_kernel<LogSigmoidBackward>);
}

}  // namespace tw::ops
