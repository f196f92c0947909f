// One pass; floor: the operands' bytes over the bandwidth, or two logarithms an element.
#include "device/cpu/loops.h"
#include "device/cpu/math.h"

namespace tw::ops {

using namespace device;

namespace {

void each_kernel(KernelContext& k) {
  dispatch_float(k.out().dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    binary_loop<T, T, T>(k, [](C x, C t) {
      C positive = math::log(x), negative = math::log1p(-x);
      positive = positive < C(-100) ? C(-100) : positive;
      negative = negative < C(-100) ? C(-100) : negative;
      return (t - C(1)) * negative - t * positive;
    });
  });
}

void backward_kernel(KernelContext& k) {
  dispatch_float(k.out().dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    ternary_loop<T, T, T, T>(k, [](C g, C x, C t) {
      C divisor = x * (C(1) - x);
      divisor = divisor < C(1e-12) ? C(1e-12) : divisor;
      return g * (x - t) / divisor;
    });
  });
}

}  // namespace

void kernels_binary_cross_entropy(KernelTable& table) {
  table.add("binary_cross_entropy_each", each_kernel);
  table.add("binary_cross_entropy_backward", backward_kernel);
}

}  // namespace tw::ops
