#include "ops/optim/root_steps_formula.h"
#include "ops/optim/step_cpu.h"

namespace tw::ops {

void kernels_root_steps(device::KernelTable& table) { add_root_steps(StepOps<CpuStepLoop>(table)); }

}  // namespace tw::ops
