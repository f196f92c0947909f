// conj, real, imag: see also movement/cast.cc. Gradients of real-valued losses follow PyTorch's convention: the
// gradient of z is the conjugate Wirtinger derivative.
#include "ir/emitter.h"

namespace tw::ops {

using namespace ir;

namespace {

void conj_grad(GradContext& c) { c.set(0, op<"conj">(c.grad())); }

void real_grad(GradContext& c) { c.set(0, op<"cast">(c.grad(), c.input_meta(0).dtype)); }

void imag_grad(GradContext& c) { c.set(0, op<"mul">(c.grad(), Scalar(complex128(0, 1)))); }

void infer_real(InferContext& c) { c.output(real_of(c.in(0).dtype), c.in(0).sizes); }

void infer_imag(InferContext& c) {
  TW_CHECK(is_complex(c.in(0).dtype), kRuntime, c.op, ": a complex tensor is wanted, got dtype ", c.in(0).dtype);
  infer_real(c);
}

}  // namespace

void define_complex(OpRegistry& r) {
  r.op("conj(Tensor input) -> Tensor")
      .doc("The complex conjugate; a copy of a real tensor.")
      .infer(infer_same)
      .grad("", conj_grad)
      .sbp(sbp::elementwise_linear)
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
}

}  // namespace tw::ops
