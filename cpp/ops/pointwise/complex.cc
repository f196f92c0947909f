// conj, real, imag, complex, polar: see also movement/cast.cc. Gradients of real-valued losses follow
// PyTorch's convention: the gradient of z is the conjugate Wirtinger derivative.
#include "ir/emitter.h"
#include "sbp/rules.h"

namespace tw::ops {

using namespace ir;

namespace {

void conj_grad(GradContext& c) { c.set(0, op<"conj">(c.grad())); }

void real_grad(GradContext& c) { c.set(0, op<"cast">(c.grad(), c.input_meta(0).dtype)); }

void imag_grad(GradContext& c) { c.set(0, op<"mul">(c.grad(), Scalar(complex128(0, 1)))); }

void infer_real(InferContext& c) { c.output(real_of(c.in(0).dtype), c.in(0).sizes); }

void infer_imag(InferContext& c) {
  TW_CHECK(is_complex(c.in(0).dtype), kRuntime, c.op, ": a complex tensor is wanted, got dtype ",
           c.in(0).dtype);
  infer_real(c);
}

void infer_complex(InferContext& c) {
  DType dtype = c.in(0).dtype;
  TW_CHECK(is_float(dtype) && dtype != DType::kBFloat16 && dtype == c.in(1).dtype, kRuntime, c.op,
           ": two tensors of one floating dtype are wanted, got ", dtype, " and ", c.in(1).dtype);
  TW_CHECK(dtype != DType::kFloat16, kNotImplemented, c.op, ": there is no complex dtype of float16 parts");
  infer_broadcast(c);
  c.outputs[0].dtype = complex_of(dtype);
}

void complex_grad(GradContext& c) {
  if (c.needs(0)) c.set(0, op<"real">(c.grad()));
  if (c.needs(1)) c.set(1, op<"imag">(c.grad()));
}

// z = r exp(i t): dr = Re(conj(g) exp(i t)), dt = Re(conj(g) i z).
void polar_grad(GradContext& c) {
  Value g = conj(c.grad());
  Value unit = op<"polar">(op<"full">(c.output_meta().sizes, 1, c.input_meta(0).dtype), c.input(1));
  if (c.needs(0)) c.set(0, op<"real">(g * unit));
  if (c.needs(1)) c.set(1, -op<"imag">(g * (unit * c.input(0))));
}

}  // namespace

void define_complex(OpRegistry& r) {
  r.op("conj(Tensor input) -> Tensor")
      .doc("The complex conjugate; a copy of a real tensor.")
      .infer(infer_same)
      .grad("", conj_grad)
      .sbp(sbp::elementwise_conjugate)
      .cost(pointwise_cost<1>)
      .expose(kFunction | kMethod);
  r.op("real(Tensor input) -> Tensor")
      .doc("The real part, as a new tensor.")
      .infer(infer_real)
      .grad("", real_grad)
      .sbp(sbp::elementwise_linear)
      .cost(pointwise_cost<0>)
      .expose(kFunction);
  r.op("imag(Tensor input) -> Tensor")
      .doc("The imaginary part of a complex tensor, as a new tensor.")
      .infer(infer_imag)
      .grad("", imag_grad)
      .sbp(sbp::elementwise_linear)
      .cost(pointwise_cost<0>)
      .expose(kFunction);
  r.op("complex(Tensor real, Tensor imag) -> Tensor")
      .doc("Complex numbers of two real tensors: real + imag i.")
      .numbers(0)
      .infer(infer_complex)
      .grad("", complex_grad)
      .sbp(sbp::elementwise_additive)
      .cost(pointwise_cost<0>)
      .expose(kFunction);
  r.op("polar(Tensor abs, Tensor angle) -> Tensor")
      .doc("Complex numbers of absolute values and angles in radians.")
      .numbers(0)
      .infer(infer_complex)
      .grad("abs angle", polar_grad)
      .sbp(sbp::elementwise)
      .cost(pointwise_cost<40>)
      .expose(kFunction);
}

}  // namespace tw::ops
