#include "ops/optim/adam_step_formula.h"
#include "ops/optim/step_cpu.h"

namespace tw::ops {

void kernels_adam_step(device::KernelTable& table) { add_adam_step(StepOps<CpuStepLoop>(table)); }

}  // namespace tw::ops
