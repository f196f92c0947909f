// gelu, its gradient, and both at once. Forward reads x and writes y, backward reads g and x and writes dx;
// some 30 flops an element. Floor: the operands' bytes over the bandwidth.
//
// Per element: 4 bytes and 40 operations (gelu, bfloat16).
#include "ops/activation/gelu.h"

#include "cuda/common/pointwise_ops.h"
#include "ops/activation/gelu_formula.h"

namespace tw::cuda {

using device::KernelContext;

namespace {

struct WithSlope {
  template <class C>
  TW_DEVICE Pair<C, C> operator()(C x) const {
    auto tail = Functions::normal_tail(x);
    return {ops::GeluForm::value(x, tail), ops::GeluForm::slope(x, tail)};
  }
};

bool is_tanh_form(const KernelContext& k) { return k.attrs<ops::GeluAttrs>().approximate == "tanh"; }

void gelu_kernel(KernelContext& k) {
  return is_tanh_form(k) ? floats_kernel<ops::GeluTanhFormula<Functions>>(k)
                         : floats_kernel<ops::GeluFormula<Functions>>(k);
}
void gelu_backward_kernel(KernelContext& k) {
  return is_tanh_form(k) ? floats_kernel<ops::GeluTanhBackwardFormula<Functions>>(k)
                         : floats_kernel<ops::GeluBackwardFormula<Functions>>(k);
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
