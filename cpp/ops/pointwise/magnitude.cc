// abs, sign, sgn, angle: size and direction. sgn(z) = z / |z|, 0 at 0; sign is the same for real tensors.
#include "ops/pointwise/rules.h"
#include "sbp/rules.h"

namespace tw::ops {

using namespace ir;

namespace {

void infer_abs(InferContext& c) {
  TW_CHECK(!is_bool(c.in(0).dtype), kNotImplemented, c.op, ": bool tensors have no size");
  c.output(real_of(c.in(0).dtype), c.in(0).sizes);
}

void abs_grad(GradContext& c) { c.set(0, c.grad() * op<"sgn">(c.input(0))); }

// The part of the gradient across the direction, over the size.
void sgn_grad(GradContext& c) {
  Value z = c.input(0), g = c.grad();
  if (!is_complex(z->dtype)) return zero_grad(c);
  Value direction = op<"sgn">(z), size = op<"abs">(z);
  Value along = op<"real">(conj(direction) * g);
  c.set(0, masked(op<"ne">(size, 0), op<"true_divide">(g - direction * along, size)));
}

void infer_angle(InferContext& c) {
  DType dtype = c.in(0).dtype;
  c.output(kind_of(dtype) <= DTypeKind::kInt ? default_float() : real_of(dtype), c.in(0).sizes);
}

// d(angle) = Im(dz / z) = Re(-i dz / z), so the gradient is g conj(-i / z) = g i / conj(z).
void angle_grad(GradContext& c) {
  Value z = c.input(0);
  if (!is_complex(z->dtype)) return zero_grad(c);
  Value slope = op<"true_divide">(c.grad() * op<"sgn">(z), op<"abs">(z));
  c.set(0, masked(op<"ne">(z, 0), op<"mul">(slope, Scalar(complex128(0, 1)))));
}

}  // namespace

void define_magnitude(OpRegistry& r) {
  r.op("abs(Tensor input) -> Tensor")
      .doc("The absolute value; real for complex tensors.")
      .infer(infer_abs)
      .grad("input", abs_grad)
      .sbp(sbp::elementwise)
      .cost(pointwise_cost<1>)
      .expose(kFunction | kMethod);  // abs_: composites/pointwise_forms.py
  r.op("sign(Tensor input) -> Tensor")
      .doc("-1, 0 or 1 by the sign of the element.")
      .infer(infer_real_same)
      .grad("", zero_grad)
      .sbp(sbp::elementwise_monotone)
      .cost(pointwise_cost<1>)
      .expose(kEverywhere);
  r.op("sgn(Tensor input) -> Tensor")
      .doc("input / |input|, 0 at 0; for complex tensors too.")
      .infer(infer_same)
      .grad("input", sgn_grad)
      .sbp(sbp::elementwise_rising_if_real)
      .cost(pointwise_cost<4>)
      .expose(kEverywhere);
  r.op("angle(Tensor input) -> Tensor")
      .doc("The angle to the positive real axis in radians, in (-pi, pi]; NaN for NaN.")
      .promote(Promotion::kCommon)
      .infer(infer_angle)
      .grad("input", angle_grad)
      .sbp(sbp::elementwise_falling)
      .cost(pointwise_cost<20>)
      .expose(kFunction | kMethod);
}

}  // namespace tw::ops
