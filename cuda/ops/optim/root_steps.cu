// adagrad_step, rmsprop_step, adadelta_step over lists of tensors. Reads parameter, gradient and states,
// writes all but the gradient: 20 bytes an element of float32 and 8 more a state beyond the first. Floor:
// bytes over the bandwidth.
//
// Per element: 20 bytes and 10 operations (adagrad_step, float32).
#include "cuda/common/tensor_lists.h"
#include "ops/optim/root_steps_formula.h"

namespace tw::cuda {

using device::KernelContext;

namespace {

void adagrad_step_kernel(KernelContext& k) {
  const auto& a = k.attrs<ops::AdagradAttrs>();
  run_step<1>(k, [&]<class C>(int tensor) { return ops::AdagradFormula<C>::of(a, tensor); });
}

void adadelta_step_kernel(KernelContext& k) {
  const auto& a = k.attrs<ops::AdadeltaAttrs>();
  run_step<2>(k, [&]<class C>(int) { return ops::AdadeltaFormula<C>::of(a); });
}

void rmsprop_step_kernel(KernelContext& k) {
  const auto& a = k.attrs<ops::RmspropAttrs>();
  auto plain = [&]<class C>(int) { return ops::RmspropFormula<C, false>::of(a); };
  auto centred = [&]<class C>(int) { return ops::RmspropFormula<C, true>::of(a); };
  bool centres = !k.list(3).empty(), moves = !k.list(4).empty();
  if (centres && moves)
    run_step<3>(k, centred);
  else if (centres)
    run_step<2>(k, centred);
  else if (moves)
    run_step<2>(k, {0, 1, 2, 4}, plain);
  else
    run_step<1>(k, plain);
}

}  // namespace

void kernels_root_steps(device::KernelTable& table) {
  table.add("adagrad_step", adagrad_step_kernel);
  table.add("rmsprop_step", rmsprop_step_kernel);
  table.add("adadelta_step", adadelta_step_kernel);
}

}  // namespace tw::cuda
