// adam_step: Adam, AdamW and AMSGrad over lists of tensors. Reads parameter, gradient and moments, writes all
// but the gradient: 28 bytes an element of float32, some 15 flops. Floor: bytes over the bandwidth.
//
// Per element: 28 bytes and 15 operations (adam_step, float32).
#include "cuda/common/tensor_lists.h"
#include "ops/optim/adam_step_formula.h"

namespace tw::cuda {

void kernels_adam_step(device::KernelTable& table) { ops::add_adam_step(ops::StepOps<CudaStepLoop>(table)); }

}  // namespace tw::cuda
