// mul_add: a b + c, where the product is rounded before c is added, as by mul and add one after the other.
#include "ir/registry.h"
#include "sbp/rules.h"

namespace tw::ops {

using namespace ir;

namespace {

void infer_mul_add(InferContext& c) {
  infer_broadcast(c);
  TW_CHECK(is_float(c.outputs[0].dtype), kType, c.op, ": a floating dtype is wanted, got ",
           c.outputs[0].dtype);
}

// As mul and add: linear in one factor and the term together.
void sbp_mul_add(sbp::RuleContext& c) {
  sbp::elementwise(c);
  sbp::add_pending(c, {0, 2});
  sbp::add_pending(c, {1, 2});
}

}  // namespace

void define_mul_add(OpRegistry& r) {
  r.op("mul_add(Tensor a, Tensor b, Tensor c) -> Tensor")
      .doc("a * b + c, rounded twice.")
      .infer(infer_mul_add)
      .no_grad("passes make it, after gradients are recorded")
      .sbp(sbp_mul_add)
      .order(ResultOrder::kLikeInputs)
      .cost(pointwise_cost<2>);
}

}  // namespace tw::ops
