// Optimizers that divide the gradient by the root of a sum or mean of its squares; g has weight_decay p
// added.
//   adagrad_step   s += g²; p -= lr / (1 + (t - 1) lr_decay) g / (sqrt(s) + eps)          (Duchi et al.,
//   2011) rmsprop_step   v = alpha v + (1 - alpha) g²; d = g / (sqrt(v) + eps)           (Tieleman & Hinton,
//   2012)
//                  with grad_avgs m, the running mean of g: sqrt(v - m²)                     (Graves, 2013)
//                  with momentum_buffers: d = b = momentum b + g / ...; p -= lr d
//   adadelta_step  v = rho v + (1 - rho) g²; d = sqrt(u + eps) / sqrt(v + eps) g;
//                  u = rho u + (1 - rho) d²; p -= lr d                                       (Zeiler, 2012)
#include "ir/registry.h"
#include "ops/optim/multi_tensor.h"
#include "ops/optim/optim.h"

namespace tw::ops {

using namespace ir;

namespace {

void infer_adagrad(InferContext& c) {
  infer_step(c);
  size_t count = c.list(0).size();
  TW_CHECK(c.list(2).size() == count && c.attrs<AdagradAttrs>().steps.size() == count, kValue, c.op,
           ": a sum and a step number are wanted for each parameter");
}

void infer_rmsprop(InferContext& c) {
  infer_step(c);
  TW_CHECK(c.list(2).size() == c.list(0).size(), kValue, c.op,
           ": a mean square is wanted for each parameter");
}

void infer_adadelta(InferContext& c) {
  infer_step(c);
  TW_CHECK(c.list(2).size() == c.list(0).size() && c.list(3).size() == c.list(0).size(), kValue, c.op,
           ": two means are wanted for each parameter");
}

}  // namespace

void define_root_steps(OpRegistry& r) {
  constexpr const char* never = "a step is never recorded";
  r.op("adagrad_step(Tensor[] params, Tensor[] grads, Tensor[] sums, int[] steps, *, float lr, float "
       "lr_decay, "
       "float eps, float weight_decay, bool maximize) -> ()",
       &AdagradAttrs::steps, &AdagradAttrs::lr, &AdagradAttrs::lr_decay, &AdagradAttrs::eps,
       &AdagradAttrs::weight_decay, &AdagradAttrs::maximize)
      .doc("One step of Adagrad, in place.")
      .infer(infer_adagrad)
      .mutates("params sums")
      .no_grad(never)
      .sbp(sbp_tuples)
      .cost(multi_tensor_cost<3>);
  r.op("rmsprop_step(Tensor[] params, Tensor[] grads, Tensor[] square_avgs, Tensor[] grad_avgs, "
       "Tensor[] momentum_buffers, *, float lr, float alpha, float eps, float weight_decay, float momentum, "
       "bool maximize) -> ()",
       &RmspropAttrs::lr, &RmspropAttrs::alpha, &RmspropAttrs::eps, &RmspropAttrs::weight_decay,
       &RmspropAttrs::momentum, &RmspropAttrs::maximize)
      .doc("One step of RMSprop, in place.")
      .infer(infer_rmsprop)
      .mutates("params square_avgs grad_avgs momentum_buffers")
      .no_grad(never)
      .sbp(sbp_tuples)
      .cost(multi_tensor_cost<4>);
  r.op("adadelta_step(Tensor[] params, Tensor[] grads, Tensor[] square_avgs, Tensor[] acc_deltas, *, float "
       "lr, "
       "float rho, float eps, float weight_decay, bool maximize) -> ()",
       &AdadeltaAttrs::lr, &AdadeltaAttrs::rho, &AdadeltaAttrs::eps, &AdadeltaAttrs::weight_decay,
       &AdadeltaAttrs::maximize)
      .doc("One step of Adadelta, in place.")
      .infer(infer_adadelta)
      .mutates("params square_avgs acc_deltas")
      .no_grad(never)
      .sbp(sbp_tuples)
      .cost(multi_tensor_cost<4>);
}

}  // namespace tw::ops
