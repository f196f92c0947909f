// sgd_step over lists of tensors, with momentum or without. Reads parameter, gradient and buffer, writes
// parameter and buffer: 20 bytes an element of float32, 12 without momentum. Floor: bytes over the bandwidth.
//
// Per element: 20 bytes and 4 operations (sgd_step with momentum, float32).
#include "cuda/common/tensor_lists.h"
#include "ops/optim/sgd_step_formula.h"

namespace tw::cuda {

void kernels_sgd_step(device::KernelTable& table) { ops::add_sgd_step(ops::StepOps<CudaStepLoop>(table)); }

}  // namespace tw::cuda
