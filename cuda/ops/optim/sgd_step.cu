// sgd_step over lists of tensors, with momentum or without. Reads parameter, gradient and buffer, writes
// parameter and buffer: 20 bytes an element of float32, 12 without momentum. Floor: bytes over the bandwidth.
#include "cuda/common/tensor_lists.h"
#include "ops/optim/optim.h"

namespace tw::cuda {

using device::KernelContext;

namespace {

// values: parameter, gradient and, with momentum, the buffer.
template <class C, bool kMomentum>
struct SgdRule {
  C lr, decay, sign, momentum, take;
  bool nesterov, fresh;

  TW_DEVICE void operator()(C* values) const {
    C g = values[1] * sign;
    if (decay != C(0)) g += decay * values[0];
    if constexpr (kMomentum) {
      C v = fresh ? g : momentum * values[2] + take * g;
      values[2] = v;
      g = nesterov ? g + momentum * v : v;
    }
    values[0] -= lr * g;
  }
};

template <class C, bool kMomentum>
SgdRule<C, kMomentum> rule_of(const ops::SgdAttrs& a, int tensor) {
  return {C(a.lr),
          C(a.weight_decay),
          C(a.maximize ? -1 : 1),
          C(a.momentum),
          C(1 - a.dampening),
          a.nesterov,
          kMomentum && a.fresh[tensor] != 0};
}

void sgd_step_kernel(KernelContext& k) {
  const auto& a = k.attrs<ops::SgdAttrs>();
  const std::span<const device::Operand> plain[] = {k.list(0), k.list(1)};
  const std::span<const device::Operand> with_buffer[] = {k.list(0), k.list(1), k.list(2)};
  dispatch_full_float(widest_of(plain), k.op, [&]<class C>() {
    if (a.momentum == 0)
      step_over<C>(k.op, plain, 0b01, [&](int t) { return rule_of<C, false>(a, t); });
    else
      step_over<C>(k.op, with_buffer, 0b101, [&](int t) { return rule_of<C, true>(a, t); });
  });
}

}  // namespace

void kernels_sgd_step(device::KernelTable& table) { table.add("sgd_step", sgd_step_kernel); }

}  // namespace tw::cuda
