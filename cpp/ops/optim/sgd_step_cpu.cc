#include "ops/optim/sgd_step_formula.h"
#include "ops/optim/step_cpu.h"

namespace tw::ops {

using namespace device;

namespace {

void sgd_step_kernel(KernelContext& k) {
  const auto& a = k.attrs<SgdAttrs>();
  auto formula = [&]<class T>(int tensor) { return SgdFormula<T>::of(a, tensor); };
  if (a.momentum == 0)
    run_step<0>(k, formula);
  else
    run_step<1>(k, formula);
}

}  // namespace

void kernels_sgd_step(KernelTable& table) { table.add("sgd_step", sgd_step_kernel); }

}  // namespace tw::ops
