// One pass; floor: the operands' bytes over the bandwidth, or two logarithms an element.
#include "device/cpu/loops.h"
#include "device/cpu/math.h"
#include "ops/loss/binary_cross_entropy_formula.h"

namespace tw::ops {

using namespace device;

namespace {

void each_kernel(KernelContext& k) {
  dispatch_float(k.out().dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    binary_loop<T, T, T>(k,
                         [](C x, C t) { return binary_cross_entropy_of(math::log(x), math::log1p(-x), t); });
  });
}

void backward_kernel(KernelContext& k) {
  dispatch_float(k.out().dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    ternary_loop<T, T, T, T>(k, [](C g, C x, C t) { return binary_cross_entropy_gradient(g, x, t); });
  });
}

}  // namespace

void kernels_binary_cross_entropy(KernelTable& table) {
  table.add("binary_cross_entropy_each", each_kernel);
  table.add("binary_cross_entropy_backward", backward_kernel);
}

}  // namespace tw::ops
