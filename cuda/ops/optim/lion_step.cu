// lion_step over lists of tensors. Reads parameter, gradient and mean, writes parameter and mean: 20 bytes an
// element of float32, some 10 flops. Floor: bytes over the bandwidth.
//
// Per element: 20 bytes and 10 operations (lion_step, float32).
#include "cuda/common/tensor_lists.h"
#include "ops/optim/lion_step_formula.h"

namespace tw::cuda {

void kernels_lion_step(device::KernelTable& table) { ops::add_lion_step(ops::StepOps<CudaStepLoop>(table)); }

}  // namespace tw::cuda
