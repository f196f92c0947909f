// gelu(x) = x Φ(x) with Φ the normal distribution function; approximate="tanh":
// 0.5 x (1 + tanh(√(2/π) (x + 0.044715 x³))). Hendrycks and Gimpel, arXiv:1606.08415.
#include "ops/activation/gelu.h"

#include "ir/emitter.h"
#include "sbp/rules.h"

namespace tw::ops {

using namespace ir;

namespace {

void infer_gelu(InferContext& c) {
  const std::string& mode = c.attrs<GeluAttrs>().approximate;
  TW_CHECK(mode == "none" || mode == "tanh", kValue, "gelu: approximate must be \"none\" or \"tanh\", got \"",
           mode, '"');
  TW_CHECK(is_float(c.in(0).dtype), kNotImplemented, "gelu: a floating dtype is wanted, got ", c.in(0).dtype);
  infer_broadcast(c);
}

void infer_with_slope(InferContext& c) {
  TW_CHECK(is_float(c.in(0).dtype), kNotImplemented, c.op, ": a floating dtype is wanted, got ",
           c.in(0).dtype);
  for (int i = 0; i < 2; i++) c.output(c.in(0).dtype, c.in(0).sizes);
}

void gelu_grad(GradContext& c) {
  c.set(0, op<"gelu_backward">(c.grad(), c.input(0), c.attrs<GeluAttrs>().approximate));
}

// d/dx of g·gelu'(x), for second derivatives, written with ops: rarely run, so no kernel of its own.
Value second_derivative(const Value& x, bool tanh_form) {
  if (!tanh_form) {  // (2 - x²) φ(x)
    Value density = op<"exp">(x * x * -0.5) * 0.3989422804014327;
    return (2.0 - x * x) * density;
  }
  constexpr double kScale = 0.7978845608028654, kCubic = 0.044715;
  Value t = op<"tanh">((x + x * x * x * kCubic) * kScale);
  Value sech2 = 1.0 - t * t;
  Value du = (x * x * (3 * kCubic) + 1.0) * kScale;
  Value ddu = x * (6 * kCubic * kScale);
  return sech2 * du + x * 0.5 * sech2 * (ddu - t * du * du * 2.0);
}

void gelu_backward_grad(GradContext& c) {
  const std::string& mode = c.attrs<GeluAttrs>().approximate;
  if (c.needs(0)) c.set(0, op<"gelu_backward">(c.grad(), c.input(1), mode));
  if (c.needs(1)) c.set(1, c.grad() * c.input(0) * second_derivative(c.input(1), mode == "tanh"));
}

}  // namespace

void define_gelu(OpRegistry& r) {
  r.op("gelu(Tensor input, *, str approximate=\"none\") -> Tensor", &GeluAttrs::approximate)
      .doc("The Gaussian error linear unit of each element.")
      .infer(infer_gelu)
      .grad("input", gelu_grad)
      .sbp(sbp::elementwise)
      .cost(pointwise_cost<20>)
      .expose(kNnFunctional);
  r.op("gelu_backward(Tensor grad, Tensor input, *, str approximate=\"none\") -> Tensor",
       &GeluAttrs::approximate)
      .doc("grad times the derivative of gelu at input.")
      .infer(infer_gelu)
      .grad("grad input", gelu_backward_grad)
      .sbp(sbp::elementwise_linear_in_first)
      .cost(pointwise_cost<30>);
  r.op("gelu_with_slope(Tensor input) -> (Tensor result, Tensor slope)")
      .doc("gelu and its derivative of each element, which share most of their work.")
      .infer(infer_with_slope)
      .no_grad("passes make it, after gradients are recorded")
      .sbp(sbp::elementwise)
      .cost(pointwise_cost<30>);
}

}  // namespace tw::ops
