// adagrad_step, rmsprop_step, adadelta_step over lists of tensors. Reads parameter, gradient and states,
// writes all but the gradient: 20 bytes an element of float32 and 8 more a state beyond the first. Floor:
// bytes over the bandwidth.
//
// Per element: 20 bytes and 10 operations (adagrad_step, float32).
#include "cuda/common/tensor_lists.h"
#include "ops/optim/root_steps_formula.h"

namespace tw::cuda {

void kernels_root_steps(device::KernelTable& table) {
  ops::add_root_steps(ops::StepOps<CudaStepLoop>(table));
}

}  // namespace tw::cuda
