// dropout_of zeroes elements with probability p and multiplies the others by 1 / (1 - p); the mask, True
// where an element is kept, is what the gradient needs. p = 1 gives zeros and a zero gradient, whatever the
// input. Srivastava et al., JMLR 15, 2014.
#include "ops/random/dropout.h"

#include "ops/pointwise/rules.h"
#include "ops/random_rules.h"

namespace tw::ops {

using namespace ir;

namespace {

void infer_dropout(InferContext& c) {
  double p = c.attrs<DropoutAttrs>().p;
  TW_CHECK(p >= 0 && p <= 1, kValue, "dropout: p must be in [0, 1], got ", p);
  TW_CHECK(is_float(c.in(0).dtype), kNotImplemented, "dropout: a floating dtype is wanted, got ",
           c.in(0).dtype);
  check_part(c.attrs<DropoutAttrs>().part, c.in(0).sizes, c.op);
  infer_same(c);
  c.output(DType::kBool, c.in(0).sizes);
}

void dropout_grad(GradContext& c) {
  double p = c.attrs<DropoutAttrs>().p;
  c.set(0, op<"dropout_backward">(c.grad(), c.output(1), p == 1 ? 0.0 : 1 / (1 - p)));
}

void dropout_backward_grad(GradContext& c) {
  c.set(0, op<"dropout_backward">(c.grad(), c.input(1), c.attrs<DropoutBackwardAttrs>().scale));
}

}  // namespace

void define_dropout(OpRegistry& r) {
  r.op("dropout_of(Tensor input, float p=0.5, float[] _part=[]) -> (Tensor result, Tensor mask)",
       &DropoutAttrs::p, &DropoutAttrs::part)
      .doc("input with elements zeroed with probability p, the others divided by 1 - p; and which were kept.")
      .infer(infer_dropout)
      .random(&DropoutAttrs::key)
      .grad("mask", dropout_grad)
      .sbp(sbp::elementwise)
      .localize(draws_output_part<&DropoutAttrs::part>)
      .cost(pointwise_cost<20>)
      .visible(1);
  r.op("dropout_backward(Tensor grad, Tensor mask, float scale) -> Tensor", &DropoutBackwardAttrs::scale)
      .doc("grad * scale where the mask holds, else 0.")
      .infer(infer_broadcast)
      .grad("mask", dropout_backward_grad)
      .sbp(sbp::elementwise)
      .cost(pointwise_cost<1>);
}

}  // namespace tw::ops
