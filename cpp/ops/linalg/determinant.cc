// linalg_det and linalg_slogdet (sign and log |det|) of matrices [..., n, n], and linalg_cofactor, the
// gradient of det: det(A) A⁻ᵀ, which is a polynomial in A and so defined for singular matrices too.
//
// Gradient of the cofactor matrix. In the bases of A = U diag(s) Vh the matrix is diagonal, and the cofactors
// of a diagonal matrix vary by products of all s but two:
//   d C_ii = Σ_{j≠i} P_ij dD_jj,   d C_ij = -P_ij dD_ji,   P_ij = Π_{l≠i,j} s_l
#include "ops/linalg/factorisation.h"

namespace tw::ops {

using namespace ir;

namespace {

void infer_det(InferContext& c) {
  check_square(c.in(0), c.op);
  c.output(c.in(0).dtype, batch_sizes(c.in(0).sizes));
}

void infer_slogdet(InferContext& c) {
  infer_det(c);
  c.output(real_of(c.in(0).dtype), batch_sizes(c.in(0).sizes));
}

void infer_cofactor(InferContext& c) {
  check_square(c.in(0), c.op);
  c.output(c.in(0).dtype, c.in(0).sizes);
}

Value over_matrix(const Value& of_batch) { return as_column(as_column(of_batch)); }

void det_grad(GradContext& c) { c.set(0, over_matrix(c.grad()) * conj(op<"linalg_cofactor">(c.input(0)))); }

// d log det = tr(A⁻¹ dA): its real part moves log |det|, its imaginary part turns the sign.
void slogdet_grad(GradContext& c) {
  Value scale = c.grad(1);
  if (c.grad(0) && is_complex(c.input_meta(0).dtype)) {
    Value turn = -op<"imag">(conj(c.grad(0)) * c.output(0));
    scale = op<"complex">(c.grad_or_zeros(1), turn);
  }
  if (!scale) return;  // the sign of a real determinant does not vary
  c.set(0, over_matrix(scale) * adjoint(ops<"linalg_inv_ex">(c.input(0), false)[0]));
}

// P_ij of the head comment, 0 on the diagonal: the products over l of [n, n, n] factors, some taken as 1.
Value products_of_others(const Value& s) {
  int64_t n = s->size(-1);
  Value eye = identity(n, s->dtype), kept = (1.0 - op<"unsqueeze">(eye, 1)) * (1.0 - op<"unsqueeze">(eye, 0));
  Value factors = as_row(as_row(s)) * kept + (1.0 - kept);
  return op<"prod_dim">(factors, -1) * (1.0 - eye);
}

// With A = U diag(s) Vh and phase = det U · det Vh: C = phase · conj(U) Ĉ conj(Vh), Ĉ the cofactors of D =
// diag(s).
void cofactor_grad(GradContext& c) {
  Value a = c.input(0);
  Values factors = ops<"linalg_svd">(a, true);
  const Value &u = factors[0], &s = factors[1], &vh = factors[2];
  auto transposed = [](const Value& x) { return op<"transpose">(x, -2, -1); };
  Value phase = op<"linalg_det">(u) * op<"linalg_det">(vh);
  Value g = over_matrix(conj(phase)) * product(product(transposed(u), c.grad()), transposed(vh));
  Value others = products_of_others(s), eye = identity(s->size(-1), s->dtype);
  Value diagonal = op<"sum">(g * eye, IntList{-1});
  Value core = eye * as_column(op<"sum">(others * as_row(diagonal), IntList{-1})) - others * transposed(g);
  c.set(0, product(product(u, core), vh));
}

}  // namespace

void define_determinant(OpRegistry& r) {
  r.op("linalg_det(Tensor A) -> Tensor")
      .doc("The determinants of square matrices.")
      .infer(infer_det)
      .grad("A", det_grad)
      .autocast(Autocast::kFloat32)
      .sbp(sbp_of_batch)
      .cost(factorisation_cost<1>)
      .expose(kLinalg);
  r.op("linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet)")
      .doc("The sign (for complex matrices: the phase) of the determinants and the logarithm of their size.")
      .infer(infer_slogdet)
      .grad("A sign", slogdet_grad)
      .autocast(Autocast::kFloat32)
      .sbp(sbp_of_batch)
      .cost(factorisation_cost<1>)
      .expose(kLinalg);
  r.op("linalg_cofactor(Tensor A) -> Tensor")
      .doc("The matrices of cofactors: det(A) times the transposed inverse, for singular A too.")
      .infer(infer_cofactor)
      .grad("A", cofactor_grad)
      .autocast(Autocast::kFloat32)
      .sbp(sbp_of_batch)
      .cost(factorisation_cost<2>);
}

}  // namespace tw::ops
