// linalg_eig: A V = V diag(L) of square matrices [..., n, n], L and V complex, the columns of V of norm 1;
// linalg_eigvals: L alone.
//
// Gradient (Boeddeker et al., "On the computation of complex-valued gradients with application to
// statistically optimum beamforming", arXiv:1701.00392, 4.77): with X = Vᴴ gV, E_ij = L_j - L_i off the
// diagonal,
//   gA = V⁻ᴴ (diag(gL) + (X - Vᴴ V diag(Re X_ii)) / conj(E)) Vᴴ
// It is defined for distinct eigenvalues and functions that do not see the phases of the vectors.
#include "ops/linalg/factorisation.h"

namespace tw::ops {

using namespace ir;

namespace {

void infer_eigvals(InferContext& c) {
  check_square(c.in(0), c.op);
  const Dims& sizes = c.in(0).sizes;
  c.output(complex_of(c.in(0).dtype), Dims(sizes.begin(), sizes.end() - 1));
}

void infer_eig(InferContext& c) {
  infer_eigvals(c);
  c.output(complex_of(c.in(0).dtype), c.in(0).sizes);
}

Value turned_back(const Value& v, const Value& core) {
  Value vh = adjoint(v);
  return ops<"solve_matrices">(vh, product(core, vh))[0];
}

void eig_grad(GradContext& c) {
  Value l = c.output(0), v = c.output(1);
  const Value &gl = c.grad(0), &gv = c.grad(1);
  Value eye = identity(l->size(-1), real_of(l->dtype)), core;
  if (gv) {
    Value x = product(adjoint(v), gv);
    Value lengths = op<"sum">(op<"real">(x) * eye, IntList{-1});
    Value gaps = conj(as_row(l) - as_column(l)) + eye;
    core = (x - product(adjoint(v), v * as_row(lengths))) * (1.0 - eye) / gaps;
  }
  if (gl) core = core ? core + eye * as_column(gl) : eye * as_column(gl);
  c.set(0, turned_back(v, core));
}

// The vectors are computed anew: keeping them would cost them where no gradient is asked for.
void eigvals_grad(GradContext& c) {
  Value v = ops<"linalg_eig">(c.input(0))[1];
  c.set(0, turned_back(v, identity(v->size(-1), real_of(v->dtype)) * as_column(c.grad())));
}

}  // namespace

void define_eig(OpRegistry& r) {
  r.op("linalg_eig(Tensor A) -> (Tensor eigenvalues, Tensor eigenvectors)")
      .doc("The eigenvalues and eigenvectors of square matrices, complex, in no order.")
      .infer(infer_eig)
      .grad("eigenvalues eigenvectors", eig_grad)
      .autocast(Autocast::kFloat32)
      .sbp(sbp_of_batch)
      .cost(factorisation_cost<25>)
      .expose(kLinalg);
  r.op("linalg_eigvals(Tensor A) -> Tensor")
      .doc("The eigenvalues of square matrices, complex, in no order.")
      .infer(infer_eigvals)
      .grad("A", eigvals_grad)
      .autocast(Autocast::kFloat32)
      .sbp(sbp_of_batch)
      .cost(factorisation_cost<10>)
      .expose(kLinalg);
}

}  // namespace tw::ops
