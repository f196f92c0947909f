#include "ops/optim/optim.h"
#include "ops/optim/step_cpu.h"

namespace tw::ops {

using namespace device;

namespace {

void sgd_step_kernel(KernelContext& k) {
  const auto& a = k.attrs<SgdAttrs>();
  if (a.momentum == 0)
    return run_step<0>(k, [&]<class T>(int) {
      T lr = T(a.lr), decay = T(a.weight_decay), sign = T(a.maximize ? -1 : 1);
      return [=](T& param, T grad) { param -= lr * penalized(grad, param, sign, decay); };
    });
  run_step<1>(k, [&]<class T>(int tensor) {
    T lr = T(a.lr), decay = T(a.weight_decay), sign = T(a.maximize ? -1 : 1);
    T momentum = T(a.momentum), take = T(1 - a.dampening);
    bool nesterov = a.nesterov, fresh = a.fresh[tensor] != 0;
    return [=](T& param, T grad, T& buffer) {
      T g = penalized(grad, param, sign, decay);
      T v = fresh ? g : momentum * buffer + take * g;
      buffer = v;
      param -= lr * (nesterov ? g + momentum * v : v);
    };
  });
}

}  // namespace

void kernels_sgd_step(KernelTable& table) { table.add("sgd_step", sgd_step_kernel); }

}  // namespace tw::ops
