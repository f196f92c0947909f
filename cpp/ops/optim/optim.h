// Attributes of the optimizer steps. `maximize` steps along the gradient instead of against it; `steps` holds
// the number of the step for each parameter, from 1.
#pragma once

#include "base/dims.h"

namespace tw::ops {

struct SgdAttrs {
  IntList fresh;  // 1 where the momentum buffer has not been used yet
  double lr, momentum, dampening, weight_decay;
  bool nesterov, maximize;
};

struct AdamAttrs {
  IntList steps;
  double lr, beta1, beta2, eps, weight_decay;
  bool decoupled, maximize;
};

struct AdagradAttrs {
  IntList steps;
  double lr, lr_decay, eps, weight_decay;
  bool maximize;
};

struct RmspropAttrs {
  double lr, alpha, eps, weight_decay, momentum;
  bool maximize;
};

struct AdadeltaAttrs {
  double lr, rho, eps, weight_decay;
  bool maximize;
};

struct LambAttrs {
  IntList steps;
  double lr, beta1, beta2, eps, weight_decay;
  bool maximize;
};

struct LionAttrs {
  double lr, beta1, beta2, weight_decay;
  bool maximize;
};

}  // namespace tw::ops
