// One pass; forward reads x and writes y, backward reads g and x. Floor: their bytes over the bandwidth.
#include "ops/activation/gelu.h"
#include "ops/activation/gelu_formula.h"
#include "ops/pointwise_ops_cpu.h"

namespace tw::ops {

using namespace device;

namespace {

using math::Functions;

bool is_tanh_form(const KernelContext& k) { return k.attrs<GeluAttrs>().approximate == "tanh"; }

void gelu_kernel(KernelContext& k) {
  return is_tanh_form(k) ? floats_kernel<CpuLoops, GeluTanhFormula<Functions>>(k)
                         : floats_kernel<CpuLoops, GeluFormula<Functions>>(k);
}
void gelu_backward_kernel(KernelContext& k) {
  return is_tanh_form(k) ? floats_kernel<CpuLoops, GeluTanhBackwardFormula<Functions>>(k)
                         : floats_kernel<CpuLoops, GeluBackwardFormula<Functions>>(k);
}

// The tail is what both are made of.
void gelu_with_slope_kernel(KernelContext& k) {
  dispatch_float(k.out().dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    pointwise_loop(Types<T, T>{}, Types<T>{}, {&k.out(0), &k.out(1)}, {&k.in(0)}, [](C x) {
      auto tail = Functions::normal_tail(x);
      return std::pair(GeluForm::value(x, tail), GeluForm::slope(x, tail));
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
