#include "ops/optim/lion_step_formula.h"
#include "ops/optim/step_cpu.h"

namespace tw::ops {

using namespace device;

namespace {

void lion_step_kernel(KernelContext& k) {
  const auto& a = k.attrs<LionAttrs>();
  run_step<1>(k, [&]<class T>(int) { return LionFormula<T>::of(a); });
}

}  // namespace

void kernels_lion_step(KernelTable& table) { table.add("lion_step", lion_step_kernel); }

}  // namespace tw::ops
