// Activations made of straight pieces, and of one parabola:
//   relu(x) = max(x, 0)                       threshold(x) = x if x > threshold else value
//   leaky_relu(x) = x if x > 0 else slope x   hardtanh(x) = x limited to [min_val, max_val]
//   hardsigmoid(x) = relu6(x + 3) / 6         hardswish(x) = x hardsigmoid(x)
//   hardshrink(x) = x if |x| > lambd else 0   softshrink(x) = x moved by lambd towards 0, 0 within
//   prelu: leaky_relu with a slope for each channel
// At a corner the derivative is that of the flatter side, as in PyTorch.
#include "ops/activation/activations.h"
#include "ops/pointwise/rules.h"
#include "sbp/rules.h"

namespace tw::ops {

using namespace ir;

namespace {

template <OpName kBackward, int kNumbers>
Value slope(const Value& grad, const Value& x, const CurveAttrs& a) {
  if constexpr (kNumbers == 0)
    return op<kBackward>(grad, x);
  else if constexpr (kNumbers == 1)
    return op<kBackward>(grad, x, a.p);
  else
    return op<kBackward>(grad, x, a.p, a.q);
}
template <OpName kBackward, int kNumbers>
void shaped_grad(GradContext& c) {
  c.set(0, slope<kBackward, kNumbers>(c.grad(), c.input(0), kNumbers ? c.attrs<CurveAttrs>() : CurveAttrs()));
}
// Of a backward op: linear in grad, and flat in the input.
template <OpName kBackward, int kNumbers>
void backward_grad(GradContext& c) {
  if (c.needs(0))
    c.set(0,
          slope<kBackward, kNumbers>(c.grad(), c.input(1), kNumbers ? c.attrs<CurveAttrs>() : CurveAttrs()));
  if (c.needs(1)) c.set(1, zeros_like(c.input_meta(1)));
}

void relu_grad(GradContext& c) { c.set(0, op<"threshold_backward">(c.grad(), c.output(), 0.0)); }

void hardswish_backward_grad(GradContext& c) {
  Value x = c.input(1);
  if (c.needs(0)) c.set(0, op<"hardswish_backward">(c.grad(), x));
  if (c.needs(1)) {
    Value curved = op<"logical_and">(op<"gt">(x, -3.0), op<"lt">(x, 3.0));
    c.set(1, masked(curved, c.grad() * c.input(0) * (1.0 / 3)));
  }
}

void prelu_grad(GradContext& c) {
  Value positive = op<"gt">(c.input(0), 0);
  if (c.needs(0)) c.set(0, op<"where">(positive, c.grad(), c.grad() * c.input(1)));
  if (c.needs(1)) c.set(1, op<"where">(positive, 0, c.grad() * c.input(0)));
}

void infer_real_number(InferContext& c) {
  TW_CHECK(!is_bool(c.in(0).dtype), kNotImplemented, c.op, ": bool tensors are not supported");
  infer_real_same(c);
}
void infer_floating(InferContext& c) {
  TW_CHECK(is_float(c.in(0).dtype), kNotImplemented, c.op, ": a floating dtype is wanted, got ",
           c.in(0).dtype);
  infer_broadcast(c);
}
void infer_shrink(InferContext& c) {
  infer_floating(c);
  double lambd = c.attrs<CurveAttrs>().p;
  TW_CHECK(lambd >= 0, kValue, c.op, ": lambd must not be negative, got ", lambd);
}

OpBuilder finish(OpBuilder builder, const char* doc, InferFn infer, unsigned exposure) {
  return builder.doc(doc).infer(infer).sbp(sbp::elementwise).cost(pointwise_cost<4>).expose(exposure);
}

OpBuilder finish_backward(OpBuilder builder, const char* doc, InferFn infer) {
  return finish(builder, doc, infer, kHidden).sbp(sbp::elementwise_linear_in_first);
}

// Hidden ops behind Python functions that take `inplace`; their in-place forms are reached by name.
void define_forward(OpRegistry& r) {
  finish(r.op("relu(Tensor input) -> Tensor"), "max(input, 0).", infer_real_number,
         kFunction | kMethod | kInplace)
      .grad("result", relu_grad)
      .sbp(sbp::elementwise_monotone);
  finish(
      r.op("threshold(Tensor input, float threshold, float value) -> Tensor", &CurveAttrs::p, &CurveAttrs::q),
      "input where it is above threshold, else value.", infer_real_number, kFunction | kInplace)
      .grad("input", shaped_grad<"threshold_backward", 1>);
  finish(r.op("leaky_relu(Tensor input, float negative_slope=0.01) -> Tensor", &CurveAttrs::p),
         "input where it is positive, else negative_slope * input.", infer_floating, kHidden)
      .grad("input", shaped_grad<"leaky_relu_backward", 1>);
  finish(r.op("hardtanh(Tensor input, float min_val=-1.0, float max_val=1.0) -> Tensor", &CurveAttrs::p,
              &CurveAttrs::q),
         "input limited to [min_val, max_val].", infer_real_number, kHidden)
      .grad("input", shaped_grad<"hardtanh_backward", 2>);
  finish(r.op("hardsigmoid(Tensor input) -> Tensor"), "relu6(input + 3) / 6.", infer_floating, kHidden)
      .grad("input", shaped_grad<"hardsigmoid_backward", 0>);
  finish(r.op("hardswish(Tensor input) -> Tensor"), "input * relu6(input + 3) / 6.", infer_floating, kHidden)
      .grad("input", shaped_grad<"hardswish_backward", 0>);
  finish(r.op("hardshrink(Tensor input, float lambd=0.5) -> Tensor", &CurveAttrs::p),
         "input where it is further than lambd from 0, else 0.", infer_floating,
         kFunction | kMethod | kNnFunctional)
      .grad("input", shaped_grad<"shrink_backward", 1>);
  finish(r.op("softshrink(Tensor input, float lambd=0.5) -> Tensor", &CurveAttrs::p),
         "input moved by lambd towards 0, 0 where it is nearer.", infer_shrink, kNnFunctional)
      .grad("input", shaped_grad<"shrink_backward", 1>);
  finish(r.op("prelu_of(Tensor input, Tensor weight) -> Tensor"),
         "input where it is positive, else weight * input, the weight broadcasting.", infer_floating, kHidden)
      .grad("input weight", prelu_grad);
}

}  // namespace

void define_piecewise(OpRegistry& r) {
  define_forward(r);
  finish_backward(
      r.op("threshold_backward(Tensor grad, Tensor input, float threshold) -> Tensor", &CurveAttrs::p),
      "grad where input is above threshold, else 0.", infer_broadcast)
      .grad("input", backward_grad<"threshold_backward", 1>);
  finish_backward(
      r.op("leaky_relu_backward(Tensor grad, Tensor input, float negative_slope) -> Tensor", &CurveAttrs::p),
      "grad times the derivative of leaky_relu.", infer_floating)
      .grad("input", backward_grad<"leaky_relu_backward", 1>);
  finish_backward(r.op("hardtanh_backward(Tensor grad, Tensor input, float min_val, float max_val) -> Tensor",
                       &CurveAttrs::p, &CurveAttrs::q),
                  "grad where input lies between the bounds, else 0.", infer_broadcast)
      .grad("input", backward_grad<"hardtanh_backward", 2>);
  finish_backward(r.op("hardsigmoid_backward(Tensor grad, Tensor input) -> Tensor"),
                  "grad times the derivative of hardsigmoid.", infer_floating)
      .grad("input", backward_grad<"hardsigmoid_backward", 0>);
  finish_backward(r.op("hardswish_backward(Tensor grad, Tensor input) -> Tensor"),
                  "grad times the derivative of hardswish.", infer_floating)
      .grad("grad input", hardswish_backward_grad);
  finish_backward(r.op("shrink_backward(Tensor grad, Tensor input, float lambd) -> Tensor", &CurveAttrs::p),
                  "grad where input is further than lambd from 0, else 0.", infer_floating)
      .grad("input", backward_grad<"shrink_backward", 1>);
}

}  // namespace tw::ops
