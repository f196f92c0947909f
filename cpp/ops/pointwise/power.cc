// pow(a, b) = a^b, with numbers on either side. Integers to negative powers are 0 (or +-1 for a base of +-1),
// as integer division would give; a negative number, rather than a tensor, as the exponent of integers is
// refused in Python (composites/pointwise_forms.py).
//
// The gradient of the base is taken as 0 where the exponent is 0, that of the exponent where 0 is raised to 0
// or more.
#include "ops/pointwise/rules.h"
#include "sbp/rules.h"

namespace tw::ops {

using namespace ir;

namespace {

void infer_pow(InferContext& c) {
  infer_broadcast(c);
  TW_CHECK(!is_bool(c.outputs[0].dtype), kNotImplemented, "pow: bool tensors have no powers");
}

void pow_grad(GradContext& c) {
  Value base = c.input(0), exponent = c.input(1);
  if (c.needs(0)) {
    bool real = !is_complex(c.output_meta().dtype);
    c.set(0,
          real ? op<"pow_backward">(c.grad(), base, exponent)
               : masked(op<"ne">(exponent, 0), c.grad() * conj(exponent * op<"pow">(base, exponent - 1.0))));
  }
  if (c.needs(1)) {
    Value flat = op<"eq">(base, 0);
    if (!is_complex(exponent->dtype)) flat = op<"logical_and">(flat, op<"ge">(exponent, 0));
    Value slope = c.grad() * conj(op<"pow">(base, exponent) * op<"log">(base));
    c.set(1, masked(op<"logical_not">(flat), slope));
  }
}

// grad * exponent * base^(exponent - 1)
void pow_backward_grad(GradContext& c) {
  Value g = c.input(0), base = c.input(1), exponent = c.input(2);
  if (c.needs(0)) c.set(0, op<"pow_backward">(c.grad(), base, exponent));
  Value lower = exponent - 1.0;
  if (c.needs(1)) c.set(1, op<"pow_backward">(c.grad() * g * exponent, base, lower));
  if (c.needs(2)) {
    Value power = op<"pow">(base, lower);
    Value slope = c.grad() * g * power * (exponent * op<"log">(base) + 1.0);
    Value flat = op<"logical_and">(op<"eq">(base, 0), op<"ge">(lower, 0));
    c.set(2, op<"where">(flat, c.grad() * g * power, slope));
  }
}

}  // namespace

void define_power(OpRegistry& r) {
  r.op("pow(Tensor input, Tensor exponent) -> Tensor")
      .doc("input to the power of exponent; either may be a number.")
      .promote(Promotion::kCommon)
      .numbers(~0u)
      .infer(infer_pow)
      .grad("input exponent", pow_grad)
      .autocast(Autocast::kFloat32)
      .sbp(sbp::elementwise)
      .cost(pointwise_cost<30>);
  r.op("pow_backward(Tensor grad, Tensor input, Tensor exponent) -> Tensor")
      .doc("grad times the derivative of pow by its base.")
      .promote(Promotion::kCommon)
      .infer(infer_broadcast)
      .grad("grad input exponent", pow_backward_grad)
      .sbp(sbp::elementwise_linear_in_first)
      .cost(pointwise_cost<30>);
}

}  // namespace tw::ops
