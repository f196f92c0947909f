// Trigonometric and hyperbolic functions and their inverses; angles in radians. sinc(x) = sin(pi x) / (pi x),
// 1 at 0.
#include "ops/pointwise/rules.h"
#include "sbp/rules.h"

namespace tw::ops {

using namespace ir;

namespace {

constexpr double kPi = 3.141592653589793;

void sin_grad(GradContext& c) { c.set(0, c.grad() * conj(op<"cos">(c.input(0)))); }
void cos_grad(GradContext& c) { c.set(0, -(c.grad() * conj(op<"sin">(c.input(0))))); }
void tan_grad(GradContext& c) {
  Value r = conj(c.output());
  c.set(0, c.grad() * (r * r + 1.0));
}
Value arc_slope(const Value& x) { return conj(op<"rsqrt">(1.0 - x * x)); }
void asin_grad(GradContext& c) { c.set(0, c.grad() * arc_slope(c.input(0))); }
void acos_grad(GradContext& c) { c.set(0, -(c.grad() * arc_slope(c.input(0)))); }
void atan_grad(GradContext& c) { c.set(0, c.grad() / conj(c.input(0) * c.input(0) + 1.0)); }
void sinh_grad(GradContext& c) { c.set(0, c.grad() * conj(op<"cosh">(c.input(0)))); }
void cosh_grad(GradContext& c) { c.set(0, c.grad() * conj(op<"sinh">(c.input(0)))); }
void tanh_grad(GradContext& c) { c.set(0, op<"tanh_backward">(c.grad(), c.output())); }
void asinh_grad(GradContext& c) { c.set(0, c.grad() * conj(op<"rsqrt">(c.input(0) * c.input(0) + 1.0))); }
void acosh_grad(GradContext& c) {
  Value x = c.input(0);
  c.set(0, c.grad() * conj(op<"rsqrt">(x - 1.0) * op<"rsqrt">(x + 1.0)));
}
void atanh_grad(GradContext& c) { c.set(0, c.grad() / conj(1.0 - c.input(0) * c.input(0))); }

// grad * conj(1 - result^2)
void tanh_backward_grad(GradContext& c) {
  Value g = c.input(0), r = c.input(1);
  if (c.needs(0)) c.set(0, op<"tanh_backward">(c.grad(), conj(r)));
  if (c.needs(1)) c.set(1, conj(c.grad()) * g * conj(r) * -2.0);
}

void sinc_grad(GradContext& c) {
  Value x = c.input(0), turn = x * kPi;
  Value slope = (op<"cos">(turn) * turn - op<"sin">(turn)) / (turn * x);
  c.set(0, masked(op<"ne">(x, 0), c.grad() * conj(slope)));
}

void atan2_grad(GradContext& c) {
  Value y = c.input(0), x = c.input(1);
  Value scaled = masked(op<"logical_or">(op<"ne">(x, 0), op<"ne">(y, 0)), c.grad() / (x * x + y * y));
  if (c.needs(0)) c.set(0, scaled * x);
  if (c.needs(1)) c.set(1, -(scaled * y));
}

}  // namespace

void define_trigonometric(OpRegistry& r) {
  define_float_function(r, "sin(Tensor input) -> Tensor", "The sine.").grad("input", sin_grad);
  define_float_function(r, "cos(Tensor input) -> Tensor", "The cosine.").grad("input", cos_grad);
  define_float_function(r, "tan(Tensor input) -> Tensor", "The tangent.").grad("result", tan_grad);
  define_float_function(r, "asin(Tensor input) -> Tensor", "The inverse sine.").grad("input", asin_grad);
  define_float_function(r, "acos(Tensor input) -> Tensor", "The inverse cosine.").grad("input", acos_grad);
  define_float_function(r, "atan(Tensor input) -> Tensor", "The inverse tangent.")
      .grad("input", atan_grad)
      .sbp(sbp::elementwise_monotone);
  define_float_function(r, "sinh(Tensor input) -> Tensor", "The hyperbolic sine.")
      .grad("input", sinh_grad)
      .sbp(sbp::elementwise_monotone);
  define_float_function(r, "cosh(Tensor input) -> Tensor", "The hyperbolic cosine.").grad("input", cosh_grad);
  define_float_function(r, "tanh(Tensor input) -> Tensor", "The hyperbolic tangent.")
      .grad("result", tanh_grad)
      .autocast(Autocast::kNone)
      .sbp(sbp::elementwise_monotone)
      .expose(kEverywhere | kNnFunctional);
  define_float_function(r, "asinh(Tensor input) -> Tensor", "The inverse hyperbolic sine.")
      .grad("input", asinh_grad)
      .sbp(sbp::elementwise_monotone);
  define_float_function(r, "acosh(Tensor input) -> Tensor", "The inverse hyperbolic cosine.")
      .grad("input", acosh_grad);
  define_float_function(r, "atanh(Tensor input) -> Tensor", "The inverse hyperbolic tangent.")
      .grad("input", atanh_grad);
  define_float_function(r, "sinc(Tensor input) -> Tensor", "sin(pi input) / (pi input), 1 at 0.")
      .grad("input", sinc_grad);
  r.op("tanh_backward(Tensor grad, Tensor result) -> Tensor")
      .doc("grad times the derivative of tanh where its value is `result`.")
      .infer(infer_broadcast)
      .grad("grad result", tanh_backward_grad)
      .sbp(sbp::elementwise_linear_in_first)
      .cost(pointwise_cost<3>);
  r.op("atan2(Tensor input, Tensor other) -> Tensor")
      .doc("The angle of the point (other, input) to the positive axis, in [-pi, pi].")
      .promote(Promotion::kFloat)
      .numbers(0)
      .infer(infer_real_broadcast)
      .grad("input other", atan2_grad)
      .autocast(Autocast::kFloat32)
      .sbp(sbp::elementwise)
      .cost(pointwise_cost<40>)
      .expose(kEverywhere);
}

}  // namespace tw::ops
