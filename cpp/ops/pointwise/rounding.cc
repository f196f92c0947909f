// floor, ceil, trunc, round, frac. round goes to the nearest, halves to the even; with decimals to that many
// digits behind the point, or before it when negative. Integers are whole already.
#include "ops/pointwise/rounding.h"

#include "ops/pointwise/rules.h"

namespace tw::ops {

using namespace ir;

namespace {

void infer_rounding(InferContext& c) {
  TW_CHECK(!is_bool(c.in(0).dtype), kNotImplemented, c.op, ": bool tensors cannot be rounded");
  infer_real_same(c);
}

void infer_round(InferContext& c) {
  infer_rounding(c);
  TW_CHECK(c.attrs<RoundAttrs>().decimals == 0 || is_float(c.in(0).dtype), kNotImplemented,
           "round: decimals needs a floating dtype, got ", c.in(0).dtype);
}

void infer_frac(InferContext& c) {
  TW_CHECK(is_float(c.in(0).dtype), kNotImplemented, "frac: a floating dtype is wanted, got ", c.in(0).dtype);
  infer_same(c);
}

void frac_grad(GradContext& c) { c.set(0, c.grad()); }

OpBuilder finish(OpBuilder builder, const char* doc) {
  return builder.doc(doc)
      .infer(infer_rounding)
      .grad("", zero_grad)
      .sbp(sbp::elementwise_monotone)
      .cost(pointwise_cost<1>)
      .expose(kEverywhere);
}

}  // namespace

void define_rounding(OpRegistry& r) {
  finish(r.op("floor(Tensor input) -> Tensor"), "The largest whole number not above the element.");
  finish(r.op("ceil(Tensor input) -> Tensor"), "The smallest whole number not below the element.");
  finish(r.op("trunc(Tensor input) -> Tensor"), "The element without its fraction.");
  finish(r.op("round(Tensor input, *, int decimals=0) -> Tensor", &RoundAttrs::decimals),
         "The nearest number of so many decimals, halves to the even.")
      .infer(infer_round);
  finish(r.op("frac(Tensor input) -> Tensor"), "The fraction of the element, with its sign.")
      .infer(infer_frac)
      .grad("", frac_grad)
      .sbp(sbp::elementwise);
}

}  // namespace tw::ops
