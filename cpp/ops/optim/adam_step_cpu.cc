#include <cmath>
#include <vector>

#include "ops/optim/optim.h"
#include "ops/optim/step_cpu.h"

namespace tw::ops {

using namespace device;

namespace {

// An element's update. The largest v stands apart, so that both forms share the rest.
template <class T>
struct AdamRule {
  T keep, penalty, sign, take1, beta2, take2, root_scale, eps, step_size;

  TW_INLINE T gradient(T& param, T grad) const {
    param *= keep;
    return penalized(grad, param, sign, penalty);
  }
  TW_INLINE void moments(T g, T& mean, T& square) const {
    mean += take1 * (g - mean);
    square = beta2 * square + take2 * g * g;
  }
  TW_INLINE void move(T& param, T mean, T square) const {
    param -= step_size * mean / (std::sqrt(square) * root_scale + eps);
  }
};

struct Correction {
  double root_scale, step_size;
};

std::vector<Correction> corrections(const AdamAttrs& a) {
  std::vector<Correction> result;
  for (int64_t step : a.steps) {
    double n = static_cast<double>(step);
    result.push_back({1 / std::sqrt(1 - std::pow(a.beta2, n)), a.lr / (1 - std::pow(a.beta1, n))});
  }
  return result;
}

void adam_step_kernel(KernelContext& k) {
  const auto& a = k.attrs<AdamAttrs>();
  std::vector<Correction> by_tensor = corrections(a);
  auto rule = [&]<class T>(int tensor) {
    return AdamRule<T>{T(a.decoupled ? 1 - a.lr * a.weight_decay : 1),
                       T(a.decoupled ? 0 : a.weight_decay),
                       T(a.maximize ? -1 : 1),
                       T(1 - a.beta1),
                       T(a.beta2),
                       T(1 - a.beta2),
                       T(by_tensor[tensor].root_scale),
                       T(a.eps),
                       T(by_tensor[tensor].step_size)};
  };
  if (k.list(4).empty())
    return run_step<2>(k, [&]<class T>(int tensor) {
      return [r = rule.template operator()<T>(tensor)](T& param, T grad, T& mean, T& square) {
        r.moments(r.gradient(param, grad), mean, square);
        r.move(param, mean, square);
      };
    });
  run_step<3>(k, [&]<class T>(int tensor) {
    return [r = rule.template operator()<T>(tensor)](T& param, T grad, T& mean, T& square, T& largest) {
      r.moments(r.gradient(param, grad), mean, square);
      largest = (square > largest) | (square != square) ? square : largest;  // NaN goes through
      r.move(param, mean, largest);
    };
  });
}

}  // namespace

void kernels_adam_step(KernelTable& table) { table.add("adam_step", adam_step_kernel); }

}  // namespace tw::ops
