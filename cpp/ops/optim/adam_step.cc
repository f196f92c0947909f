// adam_step: m = beta1 m + (1 - beta1) g, v = beta2 v + (1 - beta2) g², p -= lr m̂ / (sqrt(v̂) + eps), where m̂
// and v̂ are free of the bias towards 0 (Kingma & Ba, 2014). With max_exp_avg_sqs, v̂ is made of the largest v
// so far (Reddi et al., 2018). Weight decay is added to g, or, decoupled, shrinks p by lr weight_decay
// (Loshchilov & Hutter, 2019).
#include "ir/registry.h"
#include "ops/optim/multi_tensor.h"
#include "ops/optim/optim.h"

namespace tw::ops {

using namespace ir;

namespace {

void infer_adam(InferContext& c) {
  infer_step(c);
  const auto& a = c.attrs<AdamAttrs>();
  TW_CHECK(c.list(2).size() == c.list(0).size() && c.list(3).size() == c.list(0).size(), kValue, c.op,
           ": two moments are wanted for each parameter");
  TW_CHECK(a.steps.size() == c.list(0).size(), kValue, c.op, ": ", c.list(0).size(),
           " step numbers are wanted, got ", a.steps.size());
}

}  // namespace

void define_adam_step(OpRegistry& r) {
  r.op("adam_step(Tensor[] params, Tensor[] grads, Tensor[] exp_avgs, Tensor[] exp_avg_sqs, "
       "Tensor[] max_exp_avg_sqs, int[] steps, *, float lr, float beta1, float beta2, float eps, "
       "float weight_decay, bool decoupled, bool maximize) -> ()",
       &AdamAttrs::steps, &AdamAttrs::lr, &AdamAttrs::beta1, &AdamAttrs::beta2, &AdamAttrs::eps,
       &AdamAttrs::weight_decay, &AdamAttrs::decoupled, &AdamAttrs::maximize)
      .doc("One step of Adam or AdamW, in place.")
      .infer(infer_adam)
      .mutates("params exp_avgs exp_avg_sqs max_exp_avg_sqs")
      .no_grad("a step is never recorded")
      .sbp(sbp_tuples)
      .cost(multi_tensor_cost<4>);
}

}  // namespace tw::ops
