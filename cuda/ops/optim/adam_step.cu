// adam_step: Adam, AdamW and AMSGrad over lists of tensors. Reads parameter, gradient and moments, writes all
// but the gradient: 28 bytes an element of float32, some 15 flops. Floor: bytes over the bandwidth.
#include <cmath>
#include <vector>

#include "cuda/common/tensor_lists.h"
#include "ops/optim/optim.h"

namespace tw::cuda {

using device::KernelContext;

namespace {

// values: parameter, gradient, mean, square and, with kLargest, the largest square.
template <class C, bool kLargest>
struct AdamRule {
  C keep, penalty, sign, take1, beta2, take2, root_scale, eps, step_size;

  TW_DEVICE void operator()(C* values) const {
    C param = values[0] * keep;
    C g = values[1] * sign;
    if (penalty != C(0)) g += penalty * param;
    C mean = values[2] + take1 * (g - values[2]);
    C square = beta2 * values[3] + take2 * g * g;
    values[2] = mean;
    values[3] = square;
    C root_of = square;
    if constexpr (kLargest) {
      if (square > values[4] || square != square) values[4] = square;  // NaN goes through
      root_of = values[4];
    }
    values[0] = param - step_size * mean / (std::sqrt(root_of) * root_scale + eps);
  }
};

template <class C, bool kLargest>
AdamRule<C, kLargest> rule_of(const ops::AdamAttrs& a, int tensor) {
  double n = static_cast<double>(a.steps[tensor]);
  double root_scale = 1 / std::sqrt(1 - std::pow(a.beta2, n)), step_size = a.lr / (1 - std::pow(a.beta1, n));
  return {C(a.decoupled ? 1 - a.lr * a.weight_decay : 1),
          C(a.decoupled ? 0 : a.weight_decay),
          C(a.maximize ? -1 : 1),
          C(1 - a.beta1),
          C(a.beta2),
          C(1 - a.beta2),
          C(root_scale),
          C(a.eps),
          C(step_size)};
}

void adam_step_kernel(KernelContext& k) {
  const auto& a = k.attrs<ops::AdamAttrs>();
  const std::span<const device::Operand> lists[] = {k.list(0), k.list(1), k.list(2), k.list(3)};
  const std::span<const device::Operand> with_largest[] = {k.list(0), k.list(1), k.list(2), k.list(3),
                                                           k.list(4)};
  dispatch_full_float(widest_of(lists), k.op, [&]<class C>() {
    if (k.list(4).empty())
      step_over<C>(k.op, lists, 0b1101, [&](int t) { return rule_of<C, false>(a, t); });
    else
      step_over<C>(k.op, with_largest, 0b11101, [&](int t) { return rule_of<C, true>(a, t); });
  });
}

}  // namespace

void kernels_adam_step(device::KernelTable& table) { table.add("adam_step", adam_step_kernel); }

}  // namespace tw::cuda
