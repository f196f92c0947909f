// One pass each; floor: the operands' bytes over the bandwidth.
#include "device/cpu/loops.h"
#include "ops/activation/activations.h"

namespace tw::ops {

using namespace device;

namespace {

// body<T, C>() for each float dtype makes the loop, with p and q in the compute type.
template <class Make>
void with_numbers(KernelContext& k, bool integers, const Make& make) {
  const auto* a = static_cast<const CurveAttrs*>(k.attributes);
  auto body = [&]<class T>() {
    using C = compute_t<T>;
    make.template operator()<T>(static_cast<C>(a ? a->p : 0), static_cast<C>(a ? a->q : 0));
  };
  if (integers)
    dispatch_real(k.out().dtype, k.op, body);
  else
    dispatch_float(k.out().dtype, k.op, body);
}

void relu_kernel(KernelContext& k) {
  dispatch_real(k.out().dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    unary_loop<T, T>(k, [](C x) { return x < C(0) ? C(0) : x; });  // hands NaN on
  });
}
void threshold_kernel(KernelContext& k) {
  with_numbers(k, true, [&]<class T, class C>(C threshold, C value) {
    unary_loop<T, T>(k, [threshold, value](C x) { return x <= threshold ? value : x; });
  });
}
void threshold_backward_kernel(KernelContext& k) {
  with_numbers(k, true, [&]<class T, class C>(C threshold, C) {
    binary_loop<T, T, T>(k, [threshold](C g, C x) { return x <= threshold ? C(0) : g; });
  });
}

void leaky_relu_kernel(KernelContext& k) {
  with_numbers(k, false, [&]<class T, class C>(C slope, C) {
    unary_loop<T, T>(k, [slope](C x) { return x > 0 ? x : slope * x; });
  });
}
void leaky_relu_backward_kernel(KernelContext& k) {
  with_numbers(k, false, [&]<class T, class C>(C slope, C) {
    binary_loop<T, T, T>(k, [slope](C g, C x) { return x > 0 ? g : slope * g; });
  });
}

void hardtanh_kernel(KernelContext& k) {
  with_numbers(k, true, [&]<class T, class C>(C low, C high) {
    unary_loop<T, T>(k, [low, high](C x) { return x < low ? low : x > high ? high : x; });
  });
}
void hardtanh_backward_kernel(KernelContext& k) {
  with_numbers(k, true, [&]<class T, class C>(C low, C high) {
    binary_loop<T, T, T>(k, [low, high](C g, C x) { return x <= low || x >= high ? C(0) : g; });
  });
}

template <class C>
TW_INLINE C hard_step(C x) {  // relu6(x + 3) / 6
  C y = x + C(3);
  y = y < C(0) ? C(0) : y;
  return (y > C(6) ? C(6) : y) * C(1.0 / 6);
}
void hardsigmoid_kernel(KernelContext& k) {
  with_numbers(k, false,
               [&]<class T, class C>(C, C) { unary_loop<T, T>(k, [](C x) { return hard_step(x); }); });
}
void hardsigmoid_backward_kernel(KernelContext& k) {
  with_numbers(k, false, [&]<class T, class C>(C, C) {
    binary_loop<T, T, T>(k, [](C g, C x) { return x > C(-3) && x < C(3) ? g * C(1.0 / 6) : C(0); });
  });
}
void hardswish_kernel(KernelContext& k) {
  with_numbers(k, false,
               [&]<class T, class C>(C, C) { unary_loop<T, T>(k, [](C x) { return x * hard_step(x); }); });
}
void hardswish_backward_kernel(KernelContext& k) {
  with_numbers(k, false, [&]<class T, class C>(C, C) {
    binary_loop<T, T, T>(k, [](C g, C x) {
      C middle = g * (x * C(1.0 / 3) + C(0.5));
      return x <= C(-3) ? C(0) : x < C(3) ? middle : g;
    });
  });
}

// Both hand NaN on.
void hardshrink_kernel(KernelContext& k) {
  with_numbers(k, false, [&]<class T, class C>(C lambd, C) {
    unary_loop<T, T>(k, [lambd](C x) { return x >= -lambd && x <= lambd ? C(0) : x; });
  });
}
void softshrink_kernel(KernelContext& k) {
  with_numbers(k, false, [&]<class T, class C>(C lambd, C) {
    unary_loop<T, T>(k, [lambd](C x) { return x > lambd ? x - lambd : x < -lambd ? x + lambd : x * C(0); });
  });
}
void shrink_backward_kernel(KernelContext& k) {
  with_numbers(k, false, [&]<class T, class C>(C lambd, C) {
    binary_loop<T, T, T>(k, [lambd](C g, C x) { return x >= -lambd && x <= lambd ? C(0) : g; });
  });
}

void prelu_kernel(KernelContext& k) {
  with_numbers(k, false, [&]<class T, class C>(C, C) {
    binary_loop<T, T, T>(k, [](C x, C weight) { return x > 0 ? x : weight * x; });
  });
}

}  // namespace

void kernels_piecewise(KernelTable& table) {
  table.add("relu", relu_kernel);
  table.add("threshold", threshold_kernel);
  table.add("threshold_backward", threshold_backward_kernel);
  table.add("leaky_relu", leaky_relu_kernel);
  table.add("leaky_relu_backward", leaky_relu_backward_kernel);
  table.add("hardtanh", hardtanh_kernel);
  table.add("hardtanh_backward", hardtanh_backward_kernel);
  table.add("hardsigmoid", hardsigmoid_kernel);
  table.add("hardsigmoid_backward", hardsigmoid_backward_kernel);
  table.add("hardswish", hardswish_kernel);
  table.add("hardswish_backward", hardswish_backward_kernel);
  table.add("hardshrink", hardshrink_kernel);
  table.add("softshrink", softshrink_kernel);
  table.add("shrink_backward", shrink_backward_kernel);
  table.add("prelu_of", prelu_kernel);
}

}  // namespace tw::ops
