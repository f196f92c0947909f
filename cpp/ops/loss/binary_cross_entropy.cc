// binary_cross_entropy_each: -(t log(x) + (1 - t) log(1 - x)) of each element, the logarithms limited to
// -100.
//   input [*] in [0, 1], target [*] -> [*]
// The gradient by the input is (x - t) / (x (1 - x)), whose divisor is kept from 0, so that it is finite (and
// not 0) where the logarithm is limited; that by the target is log(1 - x) - log(x).
#include "ops/loss/binary_cross_entropy_formula.h"
#include "ops/pointwise/rules.h"
#include "sbp/rules.h"

namespace tw::ops {

using namespace ir;

namespace {

void infer_each(InferContext& c) {
  TW_CHECK(is_float(c.in(0).dtype), kNotImplemented, "binary_cross_entropy: a floating dtype is wanted, got ",
           c.in(0).dtype);
  infer_broadcast(c);
}

Value divisor(const Value& x) { return op<"maximum">(x * (1.0 - x), kBceLeastDivisor); }

void each_grad(GradContext& c) {
  Value x = c.input(0), t = c.input(1);
  if (c.needs(0)) c.set(0, op<"binary_cross_entropy_backward">(c.grad(), x, t));
  if (c.needs(1)) c.set(1, c.grad() * (op<"log">(1.0 - x) - op<"log">(x)));
}

void backward_grad(GradContext& c) {
  Value g = c.input(0), x = c.input(1), t = c.input(2), d = divisor(x);
  if (c.needs(0)) c.set(0, c.grad() * (x - t) / d);
  if (c.needs(1)) c.set(1, c.grad() * g * (x * x - x * 2.0 * t + t) / (d * d));
  if (c.needs(2)) c.set(2, -(c.grad() * g / d));
}

}  // namespace

void define_binary_cross_entropy(OpRegistry& r) {
  r.op("binary_cross_entropy_each(Tensor input, Tensor target) -> Tensor")
      .doc("The binary cross entropy of each element.")
      .promote(Promotion::kCommon)
      .numbers(0)
      .infer(infer_each)
      .grad("input target", each_grad)
      .autocast(Autocast::kFloat32)
      .sbp(sbp::elementwise)
      .cost(pointwise_cost<40>);
  r.op("binary_cross_entropy_backward(Tensor grad, Tensor input, Tensor target) -> Tensor")
      .doc("The gradient of binary_cross_entropy_each by its input.")
      .promote(Promotion::kCommon)
      .infer(infer_each)
      .grad("grad input target", backward_grad)
      .sbp(sbp::elementwise_linear_in_first)
      .cost(pointwise_cost<6>);
}

}  // namespace tw::ops
