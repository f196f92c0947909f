// Error functions, the logistic function and its inverse, the gamma family, and numbers in place of NaN and
// infinities.
//
// polygamma(n, x) is the n-th derivative of digamma, by the Hurwitz zeta function: (-1)^(n+1) n! zeta(n + 1,
// x). Abramowitz and Stegun, 6.4.10.
#include "ops/pointwise/special_functions.h"

#include "ops/pointwise/rules.h"
#include "sbp/rules.h"

namespace tw::ops {

using namespace ir;

namespace {

constexpr double kTwoOverRootPi = 1.1283791670955126, kHalfRootPi = 0.886226925452758;

void erf_grad(GradContext& c) {
  Value x = c.input(0);
  c.set(0, c.grad() * op<"exp">(-(x * x)) * kTwoOverRootPi);
}
void erfc_grad(GradContext& c) {
  Value x = c.input(0);
  c.set(0, c.grad() * op<"exp">(-(x * x)) * -kTwoOverRootPi);
}
void erfinv_grad(GradContext& c) {
  Value r = c.output();
  c.set(0, c.grad() * op<"exp">(r * r) * kHalfRootPi);
}

void sigmoid_grad(GradContext& c) { c.set(0, op<"sigmoid_backward">(c.grad(), c.output())); }

// grad * conj((1 - result) * result)
void sigmoid_backward_grad(GradContext& c) {
  Value g = c.input(0), r = c.input(1);
  if (c.needs(0)) c.set(0, op<"sigmoid_backward">(c.grad(), conj(r)));
  if (c.needs(1)) c.set(1, conj(c.grad()) * g * conj(1.0 - r * 2.0));
}

void logit_grad(GradContext& c) {
  Value x = c.input(0);
  const auto& eps = c.attrs<LogitAttrs>().eps;
  Value slope = c.grad() / (x * (1.0 - x));
  if (!eps) return c.set(0, slope);
  c.set(0, masked(op<"logical_and">(op<"ge">(x, *eps), op<"le">(x, 1.0 - *eps)), slope));
}

void lgamma_grad(GradContext& c) { c.set(0, c.grad() * op<"digamma">(c.input(0))); }
void digamma_grad(GradContext& c) { c.set(0, c.grad() * op<"polygamma_of">(c.input(0), int64_t{1})); }
void polygamma_grad(GradContext& c) {
  c.set(0, c.grad() * op<"polygamma_of">(c.input(0), c.attrs<PolygammaAttrs>().n + 1));
}

void infer_polygamma(InferContext& c) {
  int64_t n = c.attrs<PolygammaAttrs>().n;
  TW_CHECK(n >= 0, kRuntime, "polygamma: n must not be negative, got ", n);
  infer_real_same(c);
}

void nan_to_num_grad(GradContext& c) { c.set(0, masked(op<"isfinite">(c.input(0)), c.grad())); }

}  // namespace

void define_special_functions(OpRegistry& r) {
  constexpr bool kReal = false;
  define_float_function(r, "erf(Tensor input) -> Tensor", "The error function.", kReal)
      .grad("input", erf_grad)
      .sbp(sbp::elementwise_monotone);
  define_float_function(r, "erfc(Tensor input) -> Tensor", "1 - erf(input), accurate where erf is near 1.",
                        kReal)
      .grad("input", erfc_grad)
      .sbp(sbp::elementwise_falling);
  define_float_function(r, "erfinv(Tensor input) -> Tensor", "The inverse of erf.", kReal)
      .grad("result", erfinv_grad);
  define_float_function(r, "sigmoid(Tensor input) -> Tensor", "1 / (1 + exp(-input)).")
      .grad("result", sigmoid_grad)
      .sbp(sbp::elementwise_monotone)
      .autocast(Autocast::kNone)
      .expose(kEverywhere | kNnFunctional);
  r.op("sigmoid_backward(Tensor grad, Tensor result) -> Tensor")
      .doc("grad times the derivative of sigmoid where its value is `result`.")
      .infer(infer_broadcast)
      .grad("grad result", sigmoid_backward_grad)
      .sbp(sbp::elementwise_linear_in_first)
      .cost(pointwise_cost<3>);
  r.op("logit(Tensor input, float? eps=None) -> Tensor", &LogitAttrs::eps)
      .doc("log(p / (1 - p)), the inverse of sigmoid; p is limited to [eps, 1 - eps] where eps is given.")
      .promote(Promotion::kFloat)
      .infer(infer_real_same)
      .grad("input", logit_grad)
      .autocast(Autocast::kFloat32)
      .sbp(sbp::elementwise)
      .cost(pointwise_cost<30>)
      .expose(kEverywhere);
  define_float_function(r, "lgamma(Tensor input) -> Tensor",
                        "The logarithm of the size of the gamma function.", kReal)
      .grad("input", lgamma_grad);
  define_float_function(r, "digamma(Tensor input) -> Tensor", "The derivative of lgamma.", kReal)
      .grad("input", digamma_grad);
  r.op("polygamma_of(Tensor input, int n) -> Tensor", &PolygammaAttrs::n)
      .doc("The n-th derivative of digamma.")
      .promote(Promotion::kFloat)
      .infer(infer_polygamma)
      .grad("input", polygamma_grad)
      .sbp(sbp::elementwise)
      .cost(pointwise_cost<200>);
  r.op("special_zeta(Tensor input, Tensor other) -> Tensor")
      .doc("The Hurwitz zeta function: the sum of (k + other)^-input over k = 0, 1, ...")
      .promote(Promotion::kFloat)
      .numbers(~0u)
      .infer(infer_real_broadcast)
      .no_grad("the derivative by the exponent is not available")
      .sbp(sbp::elementwise)
      .cost(pointwise_cost<200>)
      .expose(kSpecial);
  r.op("nan_to_num(Tensor input, float nan=0.0, float? posinf=None, float? neginf=None) -> Tensor",
       &NanToNumAttrs::nan, &NanToNumAttrs::posinf, &NanToNumAttrs::neginf)
      .doc("Finite numbers in place of NaN and infinities: the largest and least of the dtype unless given.")
      .infer(infer_same)
      .grad("input", nan_to_num_grad)
      .sbp(sbp::elementwise)
      .cost(pointwise_cost<3>)
      .expose(kEverywhere);
}

}  // namespace tw::ops
