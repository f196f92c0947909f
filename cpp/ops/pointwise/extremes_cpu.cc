// One pass; floor: the operands' bytes over the bandwidth.
#include "ops/pointwise/extremes_formula.h"
#include "ops/pointwise_ops_cpu.h"

namespace tw::ops {

using namespace device;

namespace {

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
  add_extremes(PointwiseOps<CpuLoops>(table));
  table.add("clamp", clamp_kernel);
}

}  // namespace tw::ops
