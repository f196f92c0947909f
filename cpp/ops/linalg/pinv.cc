// pinv_matrices: the Moore-Penrose inverses P [..., n, m] of matrices A [..., m, n]. Singular values that do
// not exceed max(atol, rtol · the largest) count as 0.
//
// Gradient: Golub and Pereyra, "The differentiation of pseudo-inverses and nonlinear least squares problems
// whose variables separate" (1973), for matrices whose rank does not change nearby. With G = gradᴴ:
//   gA = -(P K)ᴴ + (1 - A P) K Pᴴ + Pᴴ P (G - K A), K = G P
#include "ops/linalg/pinv.h"

#include "ops/linalg/factorisation.h"

namespace tw::ops {

using namespace ir;

namespace {

void infer_pinv(InferContext& c) {
  const ValueImpl& a = c.in(0);
  c.attrs<PinvAttrs>().hermitian ? check_square(a, c.op) : check_matrices(a, c.op);
  Dims batch = batch_sizes(a.sizes);
  for (int i : {1, 2}) {
    const ValueImpl& tolerance = c.in(i);
    TW_CHECK(tolerance.dtype == real_of(a.dtype), kRuntime, c.op, ": tolerances of dtype ", real_of(a.dtype),
             " are wanted, got ", tolerance.dtype);
    TW_CHECK(broadcast_sizes(batch, tolerance.sizes, c.op) == batch, kRuntime, c.op,
             ": tolerances that broadcast to the batch ", batch, " are wanted, got ", tolerance.sizes);
  }
  c.output(a.dtype, with_last(a.sizes, {a.size(-1), a.size(-2)}));
}

void pinv_grad(GradContext& c) {
  Value a = c.input(0), p = c.output(), g = adjoint(c.grad()), ph = adjoint(p);
  Value k = product(g, p), kph = product(k, ph);
  Value within = kph - product(a, product(p, kph));
  Value rest = g - product(k, a);
  c.set(0, within - adjoint(product(p, k)) + product(ph, product(p, rest)));
}

void sbp_pinv(sbp::RuleContext& c) {
  auto batch = static_cast<int64_t>(c.inputs[0].size()) - 2;
  for (int64_t dim = 0; dim < batch; dim++) {
    sbp::Signature signature = {{sbp::split(dim), sbp::broadcast(), sbp::broadcast()}, {sbp::split(dim)}};
    for (size_t i : {1, 2}) {
      int64_t own = dim - batch + static_cast<int64_t>(c.inputs[i].size());
      if (own >= 0 && c.inputs[i][own] == c.inputs[0][dim]) signature.inputs[i] = sbp::split(own);
    }
    c.add(std::move(signature));
  }
}

}  // namespace

void define_pinv(OpRegistry& r) {
  r.op("pinv_matrices(Tensor A, Tensor atol, Tensor rtol, bool hermitian=False) -> Tensor",
       &PinvAttrs::hermitian)
      .doc(
          "The pseudoinverses of matrices; singular values up to max(atol, rtol times the largest) count as "
          "0.")
      .infer(infer_pinv)
      .grad("A result", pinv_grad)
      .autocast(Autocast::kFloat32)
      .sbp(sbp_pinv)
      .cost(factorisation_cost<24>);
}

}  // namespace tw::ops
