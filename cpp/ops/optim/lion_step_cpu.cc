#include "ops/optim/optim.h"
#include "ops/optim/step_cpu.h"

namespace tw::ops {

using namespace device;

namespace {

void lion_step_kernel(KernelContext& k) {
  const auto& a = k.attrs<LionAttrs>();
  run_step<1>(k, [&]<class T>(int) {
    T lr = T(a.lr), keep = T(1 - a.lr * a.weight_decay), sign = T(a.maximize ? -1 : 1);
    T take1 = T(1 - a.beta1), take2 = T(1 - a.beta2);
    return [=](T& param, T grad, T& mean) {
      T g = sign * grad;
      T direction = mean + take1 * (g - mean);
      T unit = direction > 0 ? T(1) : (direction < 0 ? T(-1) : direction);  // 0 and NaN stay
      param = keep * param - lr * unit;
      mean += take2 * (g - mean);
    };
  });
}

}  // namespace

void kernels_lion_step(KernelTable& table) { table.add("lion_step", lion_step_kernel); }

}  // namespace tw::ops
