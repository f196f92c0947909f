// sgd_step over lists of tensors, with momentum or without. Reads parameter, gradient and buffer, writes
// parameter and buffer: 20 bytes an element of float32, 12 without momentum. Floor: bytes over the bandwidth.
//
// Per element: 20 bytes and 4 operations (sgd_step with momentum, float32).
#include "cuda/common/tensor_lists.h"
#include "ops/optim/sgd_step_formula.h"

namespace tw::cuda {

namespace {

void sgd_step_kernel(device::KernelContext& k) {
  const auto& a = k.attrs<ops::SgdAttrs>();
  auto formula = [&]<class C>(int tensor) { return ops::SgdFormula<C>::of(a, tensor); };
  if (a.momentum == 0)
    run_step<0>(k, formula);
  else
    run_step<1>(k, formula);
}

}  // namespace

void kernels_sgd_step(device::KernelTable& table) { table.add("sgd_step", sgd_step_kernel); }

}  // namespace tw::cuda
