#include "ops/optim/root_steps_formula.h"
#include "ops/optim/step_cpu.h"

namespace tw::ops {

using namespace device;

namespace {

void adagrad_step_kernel(KernelContext& k) {
  const auto& a = k.attrs<AdagradAttrs>();
  run_step<1>(k, [&]<class T>(int tensor) { return AdagradFormula<T>::of(a, tensor); });
}

void adadelta_step_kernel(KernelContext& k) {
  const auto& a = k.attrs<AdadeltaAttrs>();
  run_step<2>(k, [&]<class T>(int) { return AdadeltaFormula<T>::of(a); });
}

void rmsprop_step_kernel(KernelContext& k) {
  const auto& a = k.attrs<RmspropAttrs>();
  auto plain = [&]<class T>(int) { return RmspropFormula<T, false>::of(a); };
  auto centred = [&]<class T>(int) { return RmspropFormula<T, true>::of(a); };
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

void kernels_root_steps(KernelTable& table) {
  table.add("adagrad_step", adagrad_step_kernel);
  table.add("rmsprop_step", rmsprop_step_kernel);
  table.add("adadelta_step", adadelta_step_kernel);
}

}  // namespace tw::ops
