#include <cmath>

#include "ops/optim/optim.h"
#include "ops/optim/step_cpu.h"

namespace tw::ops {

using namespace device;

namespace {

void adagrad_step_kernel(KernelContext& k) {
  const auto& a = k.attrs<AdagradAttrs>();
  run_step<1>(k, [&]<class T>(int tensor) {
    T rate = T(a.lr / (1 + static_cast<double>(a.steps[tensor] - 1) * a.lr_decay));
    T eps = T(a.eps), decay = T(a.weight_decay), sign = T(a.maximize ? -1 : 1);
    return [=](T& param, T grad, T& sum) {
      T g = penalized(grad, param, sign, decay);
      sum += g * g;
      param -= rate * g / (std::sqrt(sum) + eps);
    };
  });
}

void adadelta_step_kernel(KernelContext& k) {
  const auto& a = k.attrs<AdadeltaAttrs>();
  run_step<2>(k, [&]<class T>(int) {
    T lr = T(a.lr), rho = T(a.rho), take = T(1 - a.rho), eps = T(a.eps);
    T decay = T(a.weight_decay), sign = T(a.maximize ? -1 : 1);
    return [=](T& param, T grad, T& square, T& acc_delta) {
      T g = penalized(grad, param, sign, decay);
      square = rho * square + take * g * g;
      T delta = std::sqrt(acc_delta + eps) / std::sqrt(square + eps) * g;
      acc_delta = rho * acc_delta + take * delta * delta;
      param -= lr * delta;
    };
  });
}

template <class T>
struct RmspropRule {
  T lr, alpha, take, eps, decay, sign, momentum;

  explicit RmspropRule(const RmspropAttrs& a)
      : lr(T(a.lr)),
        alpha(T(a.alpha)),
        take(T(1 - a.alpha)),
        eps(T(a.eps)),
        decay(T(a.weight_decay)),
        sign(T(a.maximize ? -1 : 1)),
        momentum(T(a.momentum)) {}

  TW_INLINE T gradient(T grad, T param) const { return penalized(grad, param, sign, decay); }
  TW_INLINE T ratio(T g, T& square) const {
    square = alpha * square + take * g * g;
    return g / (std::sqrt(square) + eps);
  }
  TW_INLINE T centred_ratio(T g, T& square, T& mean) const {
    square = alpha * square + take * g * g;
    mean += take * (g - mean);
    return g / (std::sqrt(square - mean * mean) + eps);
  }
  TW_INLINE void move(T& param, T ratio, T& buffer) const {
    buffer = momentum * buffer + ratio;
    param -= lr * buffer;
  }
};

void rmsprop_step_kernel(KernelContext& k) {
  const auto& a = k.attrs<RmspropAttrs>();
  bool centred = !k.list(3).empty(), moves = !k.list(4).empty();
  if (centred && moves)
    return run_step<3>(k, [&]<class T>(int) {
      return [r = RmspropRule<T>(a)](T& param, T grad, T& square, T& mean, T& buffer) {
        r.move(param, r.centred_ratio(r.gradient(grad, param), square, mean), buffer);
      };
    });
  if (centred)
    return run_step<2>(k, [&]<class T>(int) {
      return [r = RmspropRule<T>(a)](T& param, T grad, T& square, T& mean) {
        param -= r.lr * r.centred_ratio(r.gradient(grad, param), square, mean);
      };
    });
  if (moves)
    return run_step<2>(k, {0, 1, 2, 4}, [&]<class T>(int) {
      return [r = RmspropRule<T>(a)](T& param, T grad, T& square, T& buffer) {
        r.move(param, r.ratio(r.gradient(grad, param), square), buffer);
      };
    });
  run_step<1>(k, [&]<class T>(int) {
    return [r = RmspropRule<T>(a)](T& param, T grad, T& square) {
      param -= r.lr * r.ratio(r.gradient(grad, param), square);
    };
  });
}

}  // namespace

void kernels_root_steps(KernelTable& table) {
  table.add("adagrad_step", adagrad_step_kernel);
  table.add("rmsprop_step", rmsprop_step_kernel);
  table.add("adadelta_step", adadelta_step_kernel);
}

}  // namespace tw::ops
