// matrix_exp: Σ Aᵏ / k! of square matrices [..., n, n].
//
// Gradient: the derivative of exp at A in direction E is the corner of a larger exponential, exp([[A, E], [0,
// A]]) = [[exp A, D], [0, exp A]] (Higham, "Functions of Matrices", 2008, theorem 3.6); transposed it serves
// backward.
#include "ops/linalg/factorisation.h"

namespace tw::ops {

using namespace ir;

namespace {

void infer_matrix_exp(InferContext& c) {
  const ValueImpl& a = c.in(0);
  TW_CHECK(a.rank() >= 2 && a.size(-1) == a.size(-2), kRuntime, c.op,
           ": square matrices are wanted, got shape ", a.sizes);
  TW_CHECK(is_float(a.dtype) || is_complex(a.dtype), kRuntime, c.op,
           ": a floating or complex dtype is wanted, got ", a.dtype);
  c.output(c.in(0).dtype, c.in(0).sizes);
}

void matrix_exp_grad(GradContext& c) {
  Value a = adjoint(c.input(0));
  int64_t n = a->size(-1);
  Value zeros = op<"full">(a->sizes, 0, a->dtype);
  Value upper = op<"cat">(Values{a, c.grad()}, -1), lower = op<"cat">(Values{zeros, a}, -1);
  Value whole = op<"matrix_exp">(op<"cat">(Values{upper, lower}, -2));
  c.set(0, op<"slice">(op<"slice">(whole, -2, 0, n, 1), -1, n, 2 * n, 1));
}

}  // namespace

void define_matrix_exp(OpRegistry& r) {
  r.op("matrix_exp(Tensor input) -> Tensor")
      .doc("The exponentials of square matrices.")
      .infer(infer_matrix_exp)
      .grad("input", matrix_exp_grad)
      .autocast(Autocast::kFloat32)
      .sbp(sbp_of_batch)
      .cost(factorisation_cost<30>)
      .expose(kFunction | kMethod | kLinalg);
}

}  // namespace tw::ops
