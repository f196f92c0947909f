// Exponentials, logarithms, roots. Complex functions have their principal values. log of a negative real
// number, sqrt of one and so on are NaN.
#include "ops/pointwise/rules.h"

namespace tw::ops {

using namespace ir;

namespace {

constexpr double kLn2 = 0.6931471805599453, kLn10 = 2.302585092994046;

void exp_grad(GradContext& c) { c.set(0, c.grad() * conj(c.output())); }
void exp2_grad(GradContext& c) { c.set(0, c.grad() * conj(c.output()) * kLn2); }
void expm1_grad(GradContext& c) { c.set(0, c.grad() * (conj(c.output()) + 1.0)); }
void log_grad(GradContext& c) { c.set(0, c.grad() / conj(c.input(0))); }
void log2_grad(GradContext& c) { c.set(0, c.grad() / (conj(c.input(0)) * kLn2)); }
void log10_grad(GradContext& c) { c.set(0, c.grad() / (conj(c.input(0)) * kLn10)); }
void log1p_grad(GradContext& c) { c.set(0, c.grad() / (conj(c.input(0)) + 1.0)); }
void sqrt_grad(GradContext& c) { c.set(0, c.grad() / (conj(c.output()) * 2.0)); }
void rsqrt_grad(GradContext& c) {
  Value r = conj(c.output());
  c.set(0, c.grad() * (r * r * r) * -0.5);
}
void reciprocal_grad(GradContext& c) {
  Value r = conj(c.output());
  c.set(0, -(c.grad() * (r * r)));
}
void square_grad(GradContext& c) { c.set(0, c.grad() * (conj(c.input(0)) * 2.0)); }

// Of bools the square is an integer.
void infer_square(InferContext& c) {
  infer_same(c);
  if (is_bool(c.outputs[0].dtype)) c.outputs[0].dtype = DType::kInt64;
}

}  // namespace

void define_exponential(OpRegistry& r) {
  define_float_function(r, "exp(Tensor input) -> Tensor", "e to the power of the element.")
      .grad("result", exp_grad)
      .sbp(sbp::elementwise_monotone);
  define_float_function(r, "exp2(Tensor input) -> Tensor", "2 to the power of the element.")
      .grad("result", exp2_grad)
      .sbp(sbp::elementwise_monotone);
  define_float_function(r, "expm1(Tensor input) -> Tensor", "exp(input) - 1, accurate near 0.")
      .grad("result", expm1_grad)
      .sbp(sbp::elementwise_monotone);
  define_float_function(r, "log(Tensor input) -> Tensor", "The natural logarithm.").grad("input", log_grad);
  define_float_function(r, "log2(Tensor input) -> Tensor", "The logarithm to base 2.")
      .grad("input", log2_grad);
  define_float_function(r, "log10(Tensor input) -> Tensor", "The logarithm to base 10.")
      .grad("input", log10_grad);
  define_float_function(r, "log1p(Tensor input) -> Tensor", "log(1 + input), accurate near 0.")
      .grad("input", log1p_grad);
  define_float_function(r, "sqrt(Tensor input) -> Tensor", "The square root.")
      .grad("result", sqrt_grad)
      .autocast(Autocast::kNone)
      .cost(pointwise_cost<4>);
  define_float_function(r, "rsqrt(Tensor input) -> Tensor", "One over the square root.")
      .grad("result", rsqrt_grad)
      .cost(pointwise_cost<8>);
  define_float_function(r, "reciprocal(Tensor input) -> Tensor", "One over the element.")
      .grad("result", reciprocal_grad)
      .cost(pointwise_cost<4>);
  r.op("square(Tensor input) -> Tensor")
      .doc("input * input.")
      .promote(Promotion::kCommon)
      .infer(infer_square)
      .grad("input", square_grad)
      .sbp(sbp::elementwise)
      .cost(pointwise_cost<1>)
      .expose(kEverywhere);
}

}  // namespace tw::ops
