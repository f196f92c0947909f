// sgd_step: v = momentum v + (1 - dampening) g, the first v being g; p -= lr v, or lr (g + momentum v) with
// nesterov; g is the gradient plus weight_decay p. Without momentum there are no buffers, and v is g.
#include "ir/registry.h"
#include "ops/optim/multi_tensor.h"
#include "ops/optim/optim.h"

namespace tw::ops {

using namespace ir;

namespace {

void infer_sgd(InferContext& c) {
  infer_step(c);
  const auto& a = c.attrs<SgdAttrs>();
  size_t wanted = a.momentum != 0 ? c.list(0).size() : 0;
  TW_CHECK(c.list(2).size() == wanted && a.fresh.size() == wanted, kValue, c.op, ": ", wanted,
           " momentum buffers and marks are wanted, got ", c.list(2).size(), " and ", a.fresh.size());
}

}  // namespace

void define_sgd_step(OpRegistry& r) {
  r.op("sgd_step(Tensor[] params, Tensor[] grads, Tensor[] momentum_buffers, int[] fresh, *, float lr, float "
       "momentum, "
       "float dampening, float weight_decay, bool nesterov, bool maximize) -> ()",
       &SgdAttrs::fresh, &SgdAttrs::lr, &SgdAttrs::momentum, &SgdAttrs::dampening, &SgdAttrs::weight_decay,
       &SgdAttrs::nesterov, &SgdAttrs::maximize)
      .doc("One step of stochastic gradient descent, in place.")
      .infer(infer_sgd)
      .mutates("params momentum_buffers")
      .no_grad("a step is never recorded")
      .sbp(sbp_tuples)
      .cost(multi_tensor_cost<2>);
}

}  // namespace tw::ops
