#include "ops/optim/lion_step_formula.h"
#include "ops/optim/step_cpu.h"

namespace tw::ops {

void kernels_lion_step(device::KernelTable& table) { add_lion_step(StepOps<CpuStepLoop>(table)); }

}  // namespace tw::ops
