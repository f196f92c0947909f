// linalg_svd: A = U diag(S) Vh of matrices [..., m, n], S descending; linalg_svdvals: S alone.
//
// Gradient: Townsend, "Differentiating the Singular Value Decomposition" (2016); for complex matrices Wan and
// Zhang, arXiv:1909.02659. It is defined for the first min(m, n) vectors and distinct singular values, and,
// where the vectors are used, for functions that do not see their signs (phases).
#include "ops/linalg/svd.h"

#include "ops/linalg/factorisation.h"

namespace tw::ops {

using namespace ir;

namespace {

template <class A>
void check_svd(InferContext& c) {
  check_matrices(c.in(0), c.op);
  TW_CHECK(!c.attrs<A>().driver, kRuntime, c.op, ": driver must be None on the CPU, got '",
           *c.attrs<A>().driver, "'");
}

void infer_svd(InferContext& c) {
  check_svd<SvdAttrs>(c);
  const ValueImpl& a = c.in(0);
  int64_t m = a.size(-2), n = a.size(-1), k = std::min(m, n);
  bool full = c.attrs<SvdAttrs>().full_matrices;
  c.output(a.dtype, with_last(a.sizes, {m, full ? m : k}));
  c.output(real_of(a.dtype), with_last(a.sizes, {k}));
  c.output(a.dtype, with_last(a.sizes, {full ? n : k, n}));
}

void infer_svdvals(InferContext& c) {
  check_svd<SvdvalsAttrs>(c);
  const ValueImpl& a = c.in(0);
  c.output(real_of(a.dtype), with_last(a.sizes, {std::min(a.size(-1), a.size(-2))}));
}

// The gradient by A where only the values are used.
Value values_grad(const Value& u, const Value& gs, const Value& vh) { return product(u * as_row(gs), vh); }

Value skew(const Value& x) { return x - adjoint(x); }

// What U^H dA V is in the basis of the singular vectors.
Value core_grad(const Value& u, const Value& s, const Value& vh, const Value& gu, const Value& gs,
                const Value& gvh) {
  Value eye = identity(s->size(-1), s->dtype), square = s * s;
  Value gaps = as_row(square) - as_column(square) + eye, off_diagonal = 1.0 - eye;
  Value core;
  auto add = [&](const Value& term) { core = core ? core + term : term; };
  if (gu) {
    Value x = skew(product(adjoint(u), gu));
    add(x * off_diagonal / gaps * as_row(s));
    if (is_complex(x->dtype)) add(x * eye / (as_column(s) * 2.0 * eye + off_diagonal));  // the phases
  }
  if (gvh) add(as_column(s) * (skew(product(vh, adjoint(gvh))) * off_diagonal / gaps));
  if (gs) add(eye * as_column(gs));
  return core;
}

void svd_grad(GradContext& c) {
  int64_t k = c.output_meta(1).sizes.back();
  Value s = c.output(1), u = first_of(c.output(0), -1, k), vh = first_of(c.output(2), -2, k);
  Value gu = c.grad(0), gs = c.grad(1), gvh = c.grad(2);
  if (!gu && !gvh) return c.set(0, values_grad(u, gs, vh));
  if (gu) gu = first_of(gu, -1, k);
  if (gvh) gvh = first_of(gvh, -2, k);
  Value core = core_grad(u, s, vh, gu, gs, gvh);
  if (gu && u->size(-2) > k) {  // what of gu lies outside the columns of u
    Value scaled = gu / as_row(s);
    Value outside = scaled - product(u, product(adjoint(u), scaled));
    return c.set(0, product(product(u, core) + outside, vh));
  }
  if (gvh && vh->size(-1) > k) {
    Value scaled = gvh / as_column(s);
    Value outside = scaled - product(product(scaled, adjoint(vh)), vh);
    return c.set(0, product(u, product(core, vh) + outside));
  }
  c.set(0, product(product(u, core), vh));
}

// The vectors are computed anew: keeping them would cost a decomposition where no gradient is asked for.
void svdvals_grad(GradContext& c) {
  Values factors = ops<"linalg_svd">(c.input(0), false);
  c.set(0, values_grad(factors[0], c.grad(), factors[2]));
}

}  // namespace

void define_svd(OpRegistry& r) {
  r.op("linalg_svd(Tensor A, bool full_matrices=True, *, str? driver=None) -> (Tensor U, Tensor S, Tensor "
       "Vh)",
       &SvdAttrs::full_matrices, &SvdAttrs::driver)
      .doc("The singular value decomposition A = U diag(S) Vh, S descending.")
      .infer(infer_svd)
      .grad("U S Vh", svd_grad)
      .autocast(Autocast::kFloat32)
      .sbp(sbp_of_batch)
      .cost(factorisation_cost<22>)
      .expose(kLinalg);
  r.op("linalg_svdvals(Tensor A, *, str? driver=None) -> Tensor", &SvdvalsAttrs::driver)
      .doc("The singular values of matrices, descending.")
      .infer(infer_svdvals)
      .grad("A", svdvals_grad)
      .autocast(Autocast::kFloat32)
      .sbp(sbp_of_batch)
      .cost(factorisation_cost<4>)
      .expose(kLinalg);
}

}  // namespace tw::ops
