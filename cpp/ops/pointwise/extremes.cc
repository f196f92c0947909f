// The larger or smaller of two elements, and clamp between bounds.
//
// maximum and minimum hand NaN on, fmax and fmin prefer the number. clamp(x) = min(max(x, low), high), so
// that high wins where the bounds cross; NaN in any of them gives NaN. Bounds are numbers or tensors.
#include "ops/pointwise/rules.h"
#include "sbp/rules.h"

namespace tw::ops {

using namespace ir;

namespace {

// A tie shares the gradient.
template <OpName kWins>
void extreme_grad(GradContext& c) {
  Value a = c.input(0), b = c.input(1);
  Value tie = op<"eq">(a, b);
  Value shared = op<"where">(tie, c.grad() * 0.5, c.grad());
  if (c.needs(0)) c.set(0, op<"where">(op<kWins>(b, a), 0, shared));
  if (c.needs(1)) c.set(1, op<"where">(op<kWins>(a, b), 0, shared));
}

// A tie gives all to the first.
template <OpName kWins>
void number_extreme_grad(GradContext& c) {
  Value first = op<"logical_or">(op<kWins>(c.input(0), c.input(1)), op<"isnan">(c.input(1)));
  if (c.needs(0)) c.set(0, op<"where">(first, c.grad(), 0));
  if (c.needs(1)) c.set(1, op<"where">(first, 0, c.grad()));
}

// max(P(max), B) and so on are exact; of two pending inputs both must be of the op's own kind.
template <sbp::ReduceOp kOwn>
void sbp_extreme(sbp::RuleContext& c) {
  sbp::elementwise(c);
  for (auto reduce : {sbp::ReduceOp::kMax, sbp::ReduceOp::kMin}) {
    c.add({{sbp::partial(reduce), sbp::broadcast()}, {sbp::partial(reduce)}});
    c.add({{sbp::broadcast(), sbp::partial(reduce)}, {sbp::partial(reduce)}});
  }
  c.add({{sbp::partial(kOwn), sbp::partial(kOwn)}, {sbp::partial(kOwn)}});
}

OpBuilder define_extreme(OpRegistry& r, const char* schema, const char* doc) {
  return r.op(schema)
      .doc(doc)
      .promote(Promotion::kCommon)
      .numbers(0)
      .infer(infer_real_broadcast)
      .cost(pointwise_cost<1>)
      .expose(kFunction | kMethod);
}

void infer_clamp(InferContext& c) {
  TW_CHECK(c.has(1) || c.has(2), kValue, c.op, ": at least one of min and max is wanted");
  infer_real_broadcast(c);
}

Value both(const Value& a, const Value& b) { return !a ? b : !b ? a : op<"logical_and">(a, b); }

void clamp_grad(GradContext& c) {
  Value x = c.input(0), low = c.input(1), high = c.input(2);
  if (c.needs(0)) {
    Value inside = both(low ? op<"ge">(x, low) : Value(), high ? op<"le">(x, high) : Value());
    c.set(0, masked(inside, c.grad()));
  }
  if (low && c.needs(1))
    c.set(1, masked(both(op<"lt">(x, low), high ? op<"lt">(low, high) : Value()), c.grad()));
  if (high && c.needs(2)) {
    Value above = op<"gt">(x, high);
    c.set(2, masked(low ? op<"logical_or">(above, op<"gt">(low, high)) : above, c.grad()));
  }
}

Values expand_clamp_min(const Values& inputs, const void*) { return {op<"clamp">(inputs[0], inputs[1])}; }
Values expand_clamp_max(const Values& inputs, const void*) {
  return {op<"clamp">(inputs[0], nullptr, inputs[1])};
}

void sbp_clamp(sbp::RuleContext& c) {
  sbp::elementwise(c);
  sbp::add_rising(c);
}

}  // namespace

void define_extremes(OpRegistry& r) {
  using sbp::ReduceOp;
  define_extreme(r, "maximum(Tensor input, Tensor other) -> Tensor",
                 "The larger of two elements, NaN if any is.")
      .grad("input other", extreme_grad<"gt">)
      .sbp(sbp_extreme<ReduceOp::kMax>)
      .order(ResultOrder::kLikeInputs);
  define_extreme(r, "minimum(Tensor input, Tensor other) -> Tensor",
                 "The smaller of two elements, NaN if any is.")
      .grad("input other", extreme_grad<"lt">)
      .sbp(sbp_extreme<ReduceOp::kMin>)
      .order(ResultOrder::kLikeInputs);
  define_extreme(r, "fmax(Tensor input, Tensor other) -> Tensor",
                 "The larger of two elements, numbers before NaN.")
      .grad("input other", number_extreme_grad<"ge">)
      .sbp(sbp::elementwise);
  define_extreme(r, "fmin(Tensor input, Tensor other) -> Tensor",
                 "The smaller of two elements, numbers before NaN.")
      .grad("input other", number_extreme_grad<"le">)
      .sbp(sbp::elementwise);
  r.op("clamp(Tensor input, Tensor? min=None, Tensor? max=None) -> Tensor")
      .doc("Elements limited to [min, max]; bounds are numbers, tensors or None.")
      .promote(Promotion::kCommon)
      .infer(infer_clamp)
      .grad("input min max", clamp_grad)
      .sbp(sbp_clamp)
      .order(ResultOrder::kLikeInputs)
      .cost(pointwise_cost<2>)
      .expose(kEverywhere);
  r.op("clamp_min(Tensor input, Tensor min) -> Tensor")
      .doc("Elements raised to min where they are below.")
      .expand(expand_clamp_min)
      .expose(kEverywhere);
  r.op("clamp_max(Tensor input, Tensor max) -> Tensor")
      .doc("Elements lowered to max where they are above.")
      .expand(expand_clamp_max)
      .expose(kEverywhere);
}

}  // namespace tw::ops
