// adam_step: Adam, AdamW and AMSGrad over lists of tensors. Reads parameter, gradient and moments, writes all
// but the gradient: 28 bytes an element of float32, some 15 flops. Floor: bytes over the bandwidth.
//
// Per element: 28 bytes and 15 operations (adam_step, float32).
#include "cuda/common/tensor_lists.h"
#include "ops/optim/adam_step_formula.h"

namespace tw::cuda {

namespace {

void adam_step_kernel(device::KernelContext& k) {
  const auto& a = k.attrs<ops::AdamAttrs>();
  auto formula = [&]<class C>(int tensor) {
    return ops::AdamFormula<C>::of(a, ops::AdamCorrection::of(a, tensor));
  };
  if (k.list(4).empty())
    run_step<2>(k, formula);
  else
    run_step<3>(k, formula);
}

}  // namespace

void kernels_adam_step(device::KernelTable& table) { table.add("adam_step", adam_step_kernel); }

}  // namespace tw::cuda
