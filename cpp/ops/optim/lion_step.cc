// lion_step: p -= lr (sign(beta1 m + (1 - beta1) g) + weight_decay p), then m = beta2 m + (1 - beta2) g (Chen
// et al., 2023).
#include "ir/registry.h"
#include "ops/optim/multi_tensor.h"
#include "ops/optim/optim.h"

namespace tw::ops {

using namespace ir;

namespace {

void infer_lion(InferContext& c) {
  infer_step(c);
  TW_CHECK(c.list(2).size() == c.list(0).size(), kValue, c.op, ": a mean is wanted for each parameter");
}

}  // namespace

void define_lion_step(OpRegistry& r) {
  r.op("lion_step(Tensor[] params, Tensor[] grads, Tensor[] exp_avgs, *, float lr, float beta1, float beta2, "
       "float weight_decay, bool maximize) -> ()",
       &LionAttrs::lr, &LionAttrs::beta1, &LionAttrs::beta2, &LionAttrs::weight_decay, &LionAttrs::maximize)
      .doc("One step of Lion, in place.")
      .infer(infer_lion)
      .mutates("params exp_avgs")
      .no_grad("a step is never recorded")
      .sbp(sbp_tuples)
      .cost(multi_tensor_cost<3>);
}

}  // namespace tw::ops
