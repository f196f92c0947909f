// where and masked_fill choose between two values by a condition; fill and zero overwrite everything.
#include "ops/pointwise/rules.h"
#include "sbp/rules.h"

namespace tw::ops {

using namespace ir;

namespace {

void check_condition(InferContext& c, int index) {
  DType dtype = c.in(index).dtype;
  TW_CHECK(is_bool(dtype) || dtype == DType::kUInt8, kRuntime, c.op,
           ": the condition must be a bool tensor, got dtype ", dtype);
}

void infer_where(InferContext& c) {
  check_condition(c, 0);
  infer_broadcast(c);
  c.outputs[0].dtype = c.in(1).dtype;
}

void where_grad(GradContext& c) {
  if (c.needs(1)) c.set(1, op<"where">(c.input(0), c.grad(), 0));
  if (c.needs(2)) c.set(2, op<"where">(c.input(0), 0, c.grad()));
}

void infer_masked_fill(InferContext& c) {
  TW_CHECK(is_bool(c.in(1).dtype), kRuntime, "masked_fill: the mask must be a bool tensor, got dtype ",
           c.in(1).dtype);
  TW_CHECK(c.in(2).rank() == 0, kRuntime,
           "masked_fill: the value must be a number or a 0-dim tensor, got shape ", c.in(2).sizes);
  infer_broadcast(c);
}

void masked_fill_grad(GradContext& c) {
  if (c.needs(0)) c.set(0, op<"where">(c.input(1), 0, c.grad()));
  if (c.needs(2)) c.set(2, op<"where">(c.input(1), c.grad(), 0));
}

void infer_fill(InferContext& c) {
  TW_CHECK(c.in(1).rank() == 0, kRuntime, "fill: the value must be a number or a 0-dim tensor, got shape ",
           c.in(1).sizes);
  infer_same(c);
}

void fill_grad(GradContext& c) {
  if (c.needs(0)) c.set(0, zeros_like(c.input_meta(0)));
  if (c.needs(1)) c.set(1, c.grad());
}

// Each device chooses among what it has of the values, the condition being known everywhere: sums have to be
// pending in both, maxima and minima may be in one.
void add_choice(sbp::RuleContext& c, size_t one, size_t other) {
  sbp::elementwise(c);
  sbp::add_pending(c, {one, other});
  sbp::add_rising(c, one);
  sbp::add_rising(c, other);
  for (auto reduce : {sbp::ReduceOp::kMax, sbp::ReduceOp::kMin}) sbp::add_pending(c, {one, other}, reduce);
}
// The input is not read: it lies as the result does, so that it can be written in place.
void sbp_fill(sbp::RuleContext& c) {
  sbp::elementwise(c);
  for (auto reduce : {sbp::ReduceOp::kSum, sbp::ReduceOp::kMax, sbp::ReduceOp::kMin})
    sbp::add_pending(c, {0, 1}, reduce);
}
void sbp_where(sbp::RuleContext& c) { add_choice(c, 1, 2); }
void sbp_masked_fill(sbp::RuleContext& c) { add_choice(c, 0, 2); }

}  // namespace

void define_select_elements(OpRegistry& r) {
  r.op("where(Tensor condition, Tensor input, Tensor other) -> Tensor")
      .doc("Elements of input where the condition holds, else of other.")
      .promote(Promotion::kCommon, 0b110)
      .infer(infer_where)
      .grad("condition", where_grad)
      .sbp(sbp_where)
      .order(ResultOrder::kLikeInputs)
      .cost(pointwise_cost<1>);
  r.op("masked_fill(Tensor input, Tensor mask, Tensor value) -> Tensor")
      .doc("input with `value` where the mask holds.")
      .promote(Promotion::kLikeFirst, 0b101)
      .infer(infer_masked_fill)
      .grad("mask", masked_fill_grad)
      .sbp(sbp_masked_fill)
      .order(ResultOrder::kRowMajor)  // as PyTorch has it
      .cost(pointwise_cost<1>)
      .expose(kFunction | kMethod | kInplace);
  r.op("fill(Tensor input, Tensor value) -> Tensor")
      .doc("A tensor like input whose elements all equal `value`.")
      .promote(Promotion::kLikeFirst)
      .infer(infer_fill)
      .grad("", fill_grad)
      .sbp(sbp_fill)
      .order(ResultOrder::kLikeInputs)
      .cost(copy_cost)
      .expose(kFunction | kInplace);
  r.op("zero(Tensor input) -> Tensor")
      .doc("A tensor of zeros like input.")
      .infer(infer_same)
      .grad("", zero_grad)
      .sbp(sbp::elementwise_moved)
      .cost(copy_cost)
      .expose(kInplace);
}

}  // namespace tw::ops
