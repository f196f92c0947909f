// lamb_step: Adam's moments m and v, u = m̂ / (sqrt(v̂) + eps) + weight_decay p, p -= lr (‖p‖ / ‖u‖) u; the
// ratio is 1 where a norm is 0 (You et al., 2020).
#include "ir/registry.h"
#include "ops/optim/multi_tensor.h"
#include "ops/optim/optim.h"

namespace tw::ops {

using namespace ir;

namespace {

void infer_lamb(InferContext& c) {
  infer_step(c);
  size_t count = c.list(0).size();
  TW_CHECK(
      c.list(2).size() == count && c.list(3).size() == count && c.attrs<LambAttrs>().steps.size() == count,
      kValue, c.op, ": two moments and a step number are wanted for each parameter");
}

}  // namespace

void define_lamb_step(OpRegistry& r) {
  r.op("lamb_step(Tensor[] params, Tensor[] grads, Tensor[] exp_avgs, Tensor[] exp_avg_sqs, int[] steps, *, "
       "float lr, float beta1, float beta2, float eps, float weight_decay, bool maximize) -> ()",
       &LambAttrs::steps, &LambAttrs::lr, &LambAttrs::beta1, &LambAttrs::beta2, &LambAttrs::eps,
       &LambAttrs::weight_decay, &LambAttrs::maximize)
      .doc("One step of LAMB, in place.")
      .infer(infer_lamb)
      .mutates("params exp_avgs exp_avg_sqs")
      .no_grad("a step is never recorded")
      .sbp(sbp::broadcast_only)  // the norms are those of whole tensors
      .cost(multi_tensor_cost<8>);
}

}  // namespace tw::ops
