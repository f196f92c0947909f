#include <vector>

#include "ops/optim/adam_step_formula.h"
#include "ops/optim/step_cpu.h"

namespace tw::ops {

using namespace device;

namespace {

void adam_step_kernel(KernelContext& k) {
  const auto& a = k.attrs<AdamAttrs>();
  std::vector<AdamCorrection> corrections;
  for (int i = 0; i < static_cast<int>(a.steps.size()); i++) corrections.push_back(AdamCorrection::of(a, i));
  auto formula = [&]<class T>(int tensor) { return AdamFormula<T>::of(a, corrections[tensor]); };
  if (k.list(4).empty())
    run_step<2>(k, formula);
  else
    run_step<3>(k, formula);
}

}  // namespace

void kernels_adam_step(KernelTable& table) { table.add("adam_step", adam_step_kernel); }

}  // namespace tw::ops
