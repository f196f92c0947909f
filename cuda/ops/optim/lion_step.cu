// lion_step over lists of tensors. Reads parameter, gradient and mean, writes parameter and mean: 20 bytes an
// element of float32, some 10 flops. Floor: bytes over the bandwidth.
//
// Per element: 20 bytes and 10 operations (lion_step, float32).
#include "cuda/common/tensor_lists.h"
#include "ops/optim/lion_step_formula.h"

namespace tw::cuda {

namespace {

void lion_step_kernel(device::KernelContext& k) {
  const auto& a = k.attrs<ops::LionAttrs>();
  run_step<1>(k, [&]<class C>(int) { return ops::LionFormula<C>::of(a); });
}

}  // namespace

void kernels_lion_step(device::KernelTable& table) { table.add("lion_step", lion_step_kernel); }

}  // namespace tw::cuda
