// Smooth activations, with s the logistic function:
//   elu_of(x) = scale x if x > 0 else alpha scale (exp(input_scale x) - 1): elu, selu and celu are cases of
//   it silu(x) = x s(x)            mish(x) = x tanh(softplus(x)) softplus(x) = log(1 + exp(beta x)) / beta, x
//   itself where beta x > threshold      logsigmoid(x) = log s(x)
// The gradients save the input alone.
#include "ops/activation/activations.h"
#include "ops/pointwise/rules.h"
#include "sbp/rules.h"

namespace tw::ops {

using namespace ir;

namespace {

void elu_grad(GradContext& c) {
  const auto& a = c.attrs<CurveAttrs>();
  c.set(0, op<"elu_backward">(c.grad(), c.input(0), a.p, a.q, a.r));
}
void elu_backward_grad(GradContext& c) {
  const auto& a = c.attrs<CurveAttrs>();
  Value x = c.input(1);
  if (c.needs(0)) c.set(0, op<"elu_backward">(c.grad(), x, a.p, a.q, a.r));
  if (c.needs(1)) {
    Value curved = op<"elu_backward">(c.grad() * c.input(0) * a.r, x, a.p, a.q, a.r);
    c.set(1, masked(op<"le">(x, 0), curved));
  }
}

void silu_grad(GradContext& c) { c.set(0, op<"silu_backward">(c.grad(), c.input(0))); }
void silu_backward_grad(GradContext& c) {
  Value x = c.input(1);
  if (c.needs(0)) c.set(0, op<"silu_backward">(c.grad(), x));
  if (c.needs(1)) {
    Value s = op<"sigmoid">(x);
    c.set(1, c.grad() * c.input(0) * (s * (1.0 - s) * (x * (1.0 - s * 2.0) + 2.0)));
  }
}

void mish_grad(GradContext& c) { c.set(0, op<"mish_backward">(c.grad(), c.input(0))); }
void mish_backward_grad(GradContext& c) {
  Value x = c.input(1);
  if (c.needs(0)) c.set(0, op<"mish_backward">(c.grad(), x));
  if (!c.needs(1)) return;
  Value s = op<"sigmoid">(x), t = op<"tanh">(op<"softplus">(x)), rest = 1.0 - t * t;
  Value first = s * rest;  // the derivative of t
  Value second = s * (1.0 - s) * rest - s * t * first * 2.0;
  c.set(1, c.grad() * c.input(0) * (first * 2.0 + x * second));
}

void softplus_grad(GradContext& c) {
  const auto& a = c.attrs<CurveAttrs>();
  c.set(0, op<"softplus_backward">(c.grad(), c.input(0), a.p, a.q));
}
void softplus_backward_grad(GradContext& c) {
  const auto& a = c.attrs<CurveAttrs>();
  Value x = c.input(1);
  if (c.needs(0)) c.set(0, op<"softplus_backward">(c.grad(), x, a.p, a.q));
  if (c.needs(1)) {
    Value z = x * a.p, s = op<"sigmoid">(z);
    c.set(1, masked(op<"le">(z, a.q), c.grad() * c.input(0) * (s * (1.0 - s) * a.p)));
  }
}

void logsigmoid_grad(GradContext& c) { c.set(0, op<"logsigmoid_backward">(c.grad(), c.input(0))); }
void logsigmoid_backward_grad(GradContext& c) {
  Value x = c.input(1);
  if (c.needs(0)) c.set(0, op<"logsigmoid_backward">(c.grad(), x));
  if (c.needs(1)) {
    Value s = op<"sigmoid">(x);
    c.set(1, -(c.grad() * c.input(0) * s * (1.0 - s)));
  }
}

void infer_smooth(InferContext& c) {
  TW_CHECK(is_float(c.in(0).dtype), kNotImplemented, c.op, ": a floating dtype is wanted, got ",
           c.in(0).dtype);
  infer_broadcast(c);
}

OpBuilder finish(OpBuilder builder, const char* doc, unsigned exposure = kHidden) {
  return builder.doc(doc).infer(infer_smooth).sbp(sbp::elementwise).cost(pointwise_cost<30>).expose(exposure);
}
OpBuilder finish_backward(OpBuilder builder, const char* doc) {
  return finish(builder, doc).sbp(sbp::elementwise_linear_in_first);
}

}  // namespace

void define_smooth(OpRegistry& r) {
  using A = CurveAttrs;
  finish(r.op("elu_of(Tensor input, float alpha=1.0, float scale=1.0, float input_scale=1.0) -> Tensor",
              &A::p, &A::q, &A::r),
         "scale * input where it is positive, else alpha * scale * expm1(input_scale * input).")
      .grad("input", elu_grad);
  finish_backward(
      r.op("elu_backward(Tensor grad, Tensor input, float alpha, float scale, float input_scale) -> Tensor",
           &A::p, &A::q, &A::r),
      "grad times the derivative of elu_of.")
      .grad("grad input", elu_backward_grad);
  finish(r.op("silu(Tensor input) -> Tensor"), "input * sigmoid(input).").grad("input", silu_grad);
  finish_backward(r.op("silu_backward(Tensor grad, Tensor input) -> Tensor"),
                  "grad times the derivative of silu.")
      .grad("grad input", silu_backward_grad);
  finish(r.op("mish(Tensor input) -> Tensor"), "input * tanh(softplus(input)).").grad("input", mish_grad);
  finish_backward(r.op("mish_backward(Tensor grad, Tensor input) -> Tensor"),
                  "grad times the derivative of mish.")
      .grad("grad input", mish_backward_grad);
  finish(r.op("softplus(Tensor input, float beta=1.0, float threshold=20.0) -> Tensor", &A::p, &A::q),
         "log(1 + exp(beta * input)) / beta; input itself where beta * input is above threshold.",
         kNnFunctional)
      .grad("input", softplus_grad)
      .autocast(Autocast::kFloat32);
  finish_backward(r.op("softplus_backward(Tensor grad, Tensor input, float beta, float threshold) -> Tensor",
                       &A::p, &A::q),
                  "grad times the derivative of softplus.")
      .grad("grad input", softplus_backward_grad);
  finish(r.op("logsigmoid(Tensor input) -> Tensor"), "log(sigmoid(input)), without overflow.", kNnFunctional)
      .grad("input", logsigmoid_grad);
  finish_backward(r.op("logsigmoid_backward(Tensor grad, Tensor input) -> Tensor"),
                  "grad times the derivative of logsigmoid.")
      .grad("grad input", logsigmoid_backward_grad);
}

}  // namespace tw::ops
