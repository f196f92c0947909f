// linalg_eigh: A = Q diag(L) Qᴴ of Hermitian matrices [..., n, n], L ascending; linalg_eigvalsh: L alone.
//
// Gradient (Giles, "Collected matrix derivative results", 2008): gA = Q (diag(gL) + ½ X / E) Qᴴ, the
// skew X = Qᴴ gQ - gQᴴ Q, E_ij = L_j - L_i off the diagonal. It is defined for distinct eigenvalues and,
// where the vectors are used, for functions that do not see their signs (phases).
#include "ops/linalg/eigh.h"

#include "ops/linalg/factorisation.h"

namespace tw::ops {

using namespace ir;

namespace {

void check_eigh(InferContext& c) {
  check_square(c.in(0), c.op);
  const std::string& uplo = c.attrs<EighAttrs>().UPLO;
  TW_CHECK(uplo == "L" || uplo == "U" || uplo == "l" || uplo == "u", kRuntime, c.op,
           ": UPLO must be 'L' or 'U', got '", uplo, "'");
}

Dims value_sizes(const Dims& sizes) { return Dims(sizes.begin(), sizes.end() - 1); }

void infer_eigh(InferContext& c) {
  check_eigh(c);
  c.output(real_of(c.in(0).dtype), value_sizes(c.in(0).sizes));
  c.output(c.in(0).dtype, c.in(0).sizes);
}

void infer_eigvalsh(InferContext& c) {
  check_eigh(c);
  c.output(real_of(c.in(0).dtype), value_sizes(c.in(0).sizes));
}

void eigh_grad(GradContext& c) {
  Value l = c.output(0), q = c.output(1);
  const Value &gl = c.grad(0), &gq = c.grad(1);
  if (!gq) return c.set(0, product(q * as_row(gl), adjoint(q)));
  Value eye = identity(l->size(-1), l->dtype);
  Value turned = product(adjoint(q), gq);
  Value core = (turned - adjoint(turned)) * (0.5 - eye * 0.5) / (as_row(l) - as_column(l) + eye);
  if (gl) core = core + eye * as_column(gl);
  c.set(0, product(product(q, core), adjoint(q)));
}

// The vectors are computed anew: keeping them would cost them where no gradient is asked for.
void eigvalsh_grad(GradContext& c) {
  Value q = ops<"linalg_eigh">(c.input(0), c.attrs<EighAttrs>().UPLO)[1];
  c.set(0, product(q * as_row(c.grad()), adjoint(q)));
}

}  // namespace

void define_eigh(OpRegistry& r) {
  r.op("linalg_eigh(Tensor A, str UPLO=\"L\") -> (Tensor eigenvalues, Tensor eigenvectors)", &EighAttrs::UPLO)
      .doc("The eigenvalues of Hermitian matrices in ascending order, and orthonormal eigenvectors.")
      .infer(infer_eigh)
      .grad("eigenvalues eigenvectors", eigh_grad)
      .autocast(Autocast::kFloat32)
      .sbp(sbp_of_batch)
      .cost(factorisation_cost<9>)
      .expose(kLinalg);
  r.op("linalg_eigvalsh(Tensor A, str UPLO=\"L\") -> Tensor", &EighAttrs::UPLO)
      .doc("The eigenvalues of Hermitian matrices in ascending order.")
      .infer(infer_eigvalsh)
      .grad("A", eigvalsh_grad)
      .autocast(Autocast::kFloat32)
      .sbp(sbp_of_batch)
      .cost(factorisation_cost<2>)
      .expose(kLinalg);
}

}  // namespace tw::ops
