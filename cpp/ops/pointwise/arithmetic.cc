// add, sub, rsub, mul, neg: the four that every gradient is made of (div: see division.cc).
//
// Inputs broadcast and promote to a common dtype; bool + bool is logical or, bool * bool logical and, as in
// NumPy.
#include "ops/pointwise/arithmetic.h"

#include "ir/emitter.h"
#include "sbp/rules.h"

namespace tw::ops {

using namespace ir;

namespace {

Value scaled(const Value& value, const Scalar& alpha) {
  return alpha == Scalar(1) ? value : op<"mul">(value, alpha);
}

void add_grad(GradContext& c) {
  if (c.needs(0)) c.set(0, c.grad());
  if (c.needs(1)) c.set(1, scaled(c.grad(), c.attrs<AlphaAttrs>().alpha));
}

void sub_grad(GradContext& c) {
  if (c.needs(0)) c.set(0, c.grad());
  if (c.needs(1)) c.set(1, -scaled(c.grad(), c.attrs<AlphaAttrs>().alpha));
}

void rsub_grad(GradContext& c) {
  if (c.needs(0)) c.set(0, -scaled(c.grad(), c.attrs<AlphaAttrs>().alpha));
  if (c.needs(1)) c.set(1, c.grad());
}

void mul_grad(GradContext& c) {
  if (c.needs(0)) c.set(0, c.grad() * conj(c.input(1)));
  if (c.needs(1)) c.set(1, c.grad() * conj(c.input(0)));
}

void neg_grad(GradContext& c) { c.set(0, -c.grad()); }

// alpha must not lose its kind: an integer tensor takes no float alpha.
void infer_scaled(InferContext& c) {
  infer_broadcast(c);
  const Scalar& alpha = c.attrs<AlphaAttrs>().alpha;
  TW_CHECK(alpha == Scalar(1) || alpha.kind() <= kind_of(c.outputs[0].dtype), kType, c.op,
           ": alpha must not be of a higher kind than dtype ", c.outputs[0].dtype, ", got ", alpha);
}

void infer_difference(InferContext& c) {
  infer_scaled(c);
  TW_CHECK(!is_bool(c.outputs[0].dtype), kType, c.op, ": bool tensors have no difference; use logical_xor");
}

void infer_neg(InferContext& c) {
  infer_same(c);
  TW_CHECK(!is_bool(c.in(0).dtype), kType, c.op, ": a bool tensor has no negative; use logical_not");
}

void sbp_mul(sbp::RuleContext& c) {
  sbp::elementwise(c);
  for (int pending = 0; pending < 2; pending++) {  // linear in each factor
    sbp::Signature signature{{sbp::broadcast(), sbp::broadcast()}, {sbp::partial()}};
    signature.inputs[pending] = sbp::partial();
    c.add(signature);
  }
}

}  // namespace

void define_arithmetic(OpRegistry& r) {
  constexpr unsigned everywhere = kFunction | kMethod | kInplace;
  r.op("add(Tensor input, Tensor other, *, Scalar alpha=1) -> Tensor", &AlphaAttrs::alpha)
      .doc("input + alpha * other.")
      .promote(Promotion::kCommon)
      .infer(infer_scaled)
      .grad("", add_grad)
      .sbp(sbp::elementwise_additive)
      .cost(pointwise_cost<1>)
      .autocast(Autocast::kWidest)
      .expose(everywhere);
  r.op("sub(Tensor input, Tensor other, *, Scalar alpha=1) -> Tensor", &AlphaAttrs::alpha)
      .doc("input - alpha * other.")
      .promote(Promotion::kCommon)
      .infer(infer_difference)
      .grad("", sub_grad)
      .sbp(sbp::elementwise_additive)
      .cost(pointwise_cost<1>)
      .autocast(Autocast::kWidest)
      .expose(everywhere);
  r.op("rsub(Tensor input, Tensor other, *, Scalar alpha=1) -> Tensor", &AlphaAttrs::alpha)
      .doc("other - alpha * input.")
      .promote(Promotion::kCommon)
      .infer(infer_difference)
      .grad("", rsub_grad)
      .sbp(sbp::elementwise_additive)
      .cost(pointwise_cost<1>)
      .expose(kFunction | kMethod);
  r.op("mul(Tensor input, Tensor other) -> Tensor")
      .doc("input * other.")
      .promote(Promotion::kCommon)
      .infer(infer_broadcast)
      .grad("input(other) other(input)", mul_grad)
      .sbp(sbp_mul)
      .order(ResultOrder::kLikeInputs)
      .cost(pointwise_cost<1>)
      .autocast(Autocast::kWidest)
      .expose(everywhere);
  r.op("neg(Tensor input) -> Tensor")
      .doc("-input.")
      .infer(infer_neg)
      .grad("", neg_grad)
      .sbp(sbp::elementwise_negative)
      .cost(pointwise_cost<1>)
      .expose(everywhere);
}

}  // namespace tw::ops
