// One pass; floor: the operands' bytes over the bandwidth.
#include "device/cpu/loops.h"
#include "ops/pointwise/extremes_formula.h"

namespace tw::ops {

using namespace device;

namespace {

template <class F>
void extreme_kernel(KernelContext& k) {
  dispatch_real_bool(k.out().dtype, k.op, [&]<class T>() { binary_loop<T, T, T>(k, F()); });
}

void clamp_kernel(KernelContext& k) {
  dispatch_real_bool(k.out().dtype, k.op, [&]<class T>() {
    if (!k.in(2).present()) {
      binary_loop<T, T, T>(k.out(), k.in(0), k.in(1), MaxFormula());
    } else if (!k.in(1).present()) {
      binary_loop<T, T, T>(k.out(), k.in(0), k.in(2), MinFormula());
    } else {
      ternary_loop<T, T, T, T>(k, ClampFormula());
    }
  });
}

}  // namespace

void kernels_extremes(KernelTable& table) {
  table.add("maximum", extreme_kernel<MaxFormula>);
  table.add("minimum", extreme_kernel<MinFormula>);
  table.add("fmax", extreme_kernel<NumberMaxFormula>);
  table.add("fmin", extreme_kernel<NumberMinFormula>);
  table.add("clamp", clamp_kernel);
}

}  // namespace tw::ops
