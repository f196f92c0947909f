// linalg_cholesky_ex: A = L Lᴴ of positive definite matrices [..., n, n], L lower with a positive diagonal;
// with `upper`, U = Lᴴ. Of A one triangle is read.
//
// Gradient: Murray, "Differentiation of the Cholesky decomposition", arXiv:1602.07527:
//   gA = ½ L⁻ᴴ (Φ + Φᴴ) L⁻¹, Φ = the lower triangle of Lᴴ gL with half its diagonal
#include "ops/linalg/cholesky.h"

#include "ops/linalg/factorisation.h"

namespace tw::ops {

using namespace ir;

namespace {

void infer_cholesky(InferContext& c) {
  check_square(c.in(0), c.op);
  c.output(c.in(0).dtype, c.in(0).sizes);
  c.output(DType::kInt32, batch_sizes(c.in(0).sizes));
}

void cholesky_grad(GradContext& c) {
  if (!c.grad()) return;
  bool upper = c.attrs<CholeskyAttrs>().upper;
  Value lower = upper ? adjoint(c.output()) : c.output(), g = upper ? adjoint(c.grad()) : c.grad();
  Value phi = op<"tril">(product(adjoint(lower), g));
  Value both = (phi + adjoint(op<"tril">(phi, -1))) * 0.5;
  Value solve = op<"solve_triangular">(adjoint(lower), both, true);  // L⁻ᴴ, and again from the right
  c.set(0, adjoint(op<"solve_triangular">(adjoint(lower), adjoint(solve), true)));
}

}  // namespace

void define_cholesky(OpRegistry& r) {
  r.op("linalg_cholesky_ex(Tensor A, *, bool upper=False, bool check_errors=False) -> (Tensor L, Tensor "
       "info)",
       &CholeskyAttrs::upper, &CholeskyAttrs::check_errors)
      .doc(
          "The Cholesky factors of matrices; info is the order of the first minor that is not positive, or "
          "0.")
      .infer(infer_cholesky)
      .grad("L", cholesky_grad)
      .autocast(Autocast::kFloat32)
      .sbp(sbp_of_batch)
      .cost(factorisation_cost<1>)
      .expose(kLinalg);
}

}  // namespace tw::ops
