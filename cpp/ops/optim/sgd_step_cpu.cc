#include "ops/optim/sgd_step_formula.h"
#include "ops/optim/step_cpu.h"

namespace tw::ops {

void kernels_sgd_step(device::KernelTable& table) { add_sgd_step(StepOps<CpuStepLoop>(table)); }

}  // namespace tw::ops
