// softmax(x) = exp(x) / Σ exp(x) along a dim, log_softmax(x) = x - log Σ exp(x). Both subtract the largest
// element first. A row of -inf alone gives NaN.
#include "ops/reduction/along_dim.h"
#include "ops/shape_checks.h"
#include "sbp/rules.h"

namespace tw::ops {

using namespace ir;

namespace {

void infer_softmax(InferContext& c) {
  const auto& a = c.attrs<DimDTypeAttrs>();
  wrap_dim(a.dim, c.in(0).rank(), c.op);
  DType dtype = a.dtype.value_or(c.in(0).dtype);
  TW_CHECK(is_float(dtype), kNotImplemented, c.op, ": a floating dtype is wanted, got ", dtype,
           "; pass dtype=");
  c.output(dtype, c.in(0).sizes);
}

void infer_backward(InferContext& c) {
  wrap_dim(c.attrs<RowDimAttrs>().dim, c.in(0).rank(), c.op);
  want_sizes(c, 1, "result", c.in(0).sizes);
  infer_same(c);
}

Value row_sum(const Value& x, int64_t dim) { return x->rank() == 0 ? x : op<"sum">(x, IntList{dim}, true); }

void sbp_backward(sbp::RuleContext& c) {
  sbp_other_dims_of<RowDimAttrs>(c);
  sbp::add_pending(c, {0});  // linear in the gradient
}

void softmax_grad(GradContext& c) {
  c.set(0, op<"softmax_backward">(c.grad(), c.output(), c.attrs<DimDTypeAttrs>().dim));
}

void log_softmax_grad(GradContext& c) {
  c.set(0, op<"log_softmax_backward">(c.grad(), c.output(), c.attrs<DimDTypeAttrs>().dim));
}

// Of y (g - Σ g y) in g and y.
void softmax_backward_grad(GradContext& c) {
  int64_t dim = c.attrs<RowDimAttrs>().dim;
  Value v = c.grad(), g = c.input(0), y = c.input(1);
  if (c.needs(0)) c.set(0, op<"softmax_backward">(v, y, dim));
  if (c.needs(1)) c.set(1, v * (g - row_sum(g * y, dim)) - g * row_sum(v * y, dim));
}

// Of g - exp(y) Σ g in g and y.
void log_softmax_backward_grad(GradContext& c) {
  int64_t dim = c.attrs<RowDimAttrs>().dim;
  Value v = c.grad(), g = c.input(0), p = op<"exp">(c.input(1));
  if (c.needs(0)) c.set(0, v - row_sum(v * p, dim));
  if (c.needs(1)) c.set(1, -(v * p * row_sum(g, dim)));
}

}  // namespace

void define_softmax(OpRegistry& r) {
  r.op("softmax(Tensor input, int dim, dtype? dtype=None) -> Tensor", &DimDTypeAttrs::dim,
       &DimDTypeAttrs::dtype)
      .doc("The exponentials of the elements, scaled so that they sum to 1 along dim.")
      .input_dtype(&DimDTypeAttrs::dtype)
      .infer(infer_softmax)
      .grad("result", softmax_grad)
      .autocast(Autocast::kFloat32)
      .sbp(sbp_other_dims_of<DimDTypeAttrs>)
      .cost(pointwise_cost<20>)
      .expose(kFunction | kMethod | kSpecial);
  r.op("softmax_backward(Tensor grad, Tensor result, int dim) -> Tensor", &RowDimAttrs::dim)
      .doc("The gradient of softmax, from its result.")
      .infer(infer_backward)
      .grad("grad result", softmax_backward_grad)
      .sbp(sbp_backward)
      .cost(pointwise_cost<4>);
  r.op("log_softmax(Tensor input, int dim, dtype? dtype=None) -> Tensor", &DimDTypeAttrs::dim,
       &DimDTypeAttrs::dtype)
      .doc("The logarithm of softmax, computed without taking one of a small number.")
      .input_dtype(&DimDTypeAttrs::dtype)
      .infer(infer_softmax)
      .grad("result", log_softmax_grad)
      .autocast(Autocast::kFloat32)
      .sbp(sbp_other_dims_of<DimDTypeAttrs>)
      .cost(pointwise_cost<20>)
      .expose(kFunction | kMethod | kSpecial);
  r.op("log_softmax_backward(Tensor grad, Tensor result, int dim) -> Tensor", &RowDimAttrs::dim)
      .doc("The gradient of log_softmax, from its result.")
      .infer(infer_backward)
      .grad("grad result", log_softmax_backward_grad)
      .sbp(sbp_backward)
      .cost(pointwise_cost<20>);
}

}  // namespace tw::ops
