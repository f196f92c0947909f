// linalg_qr: A = Q R of matrices [..., m, n], the columns of Q orthonormal, R upper. k = min(m, n);
//   mode "reduced": Q [m, k], R [k, n]; "complete": Q [m, m], R [m, n]; "r": Q empty, R [k, n]
//
// Gradient: Roberts and Roberts, "QR and LQ decomposition matrix backpropagation algorithms",
// arXiv:2009.10071. For m < n, A = [A₁ A₂] and R = [R₁ R₂] with A₁ = Q R₁ square and R₂ = Qᴴ A₂.
#include "ops/linalg/qr.h"

#include "ops/linalg/factorisation.h"

namespace tw::ops {

using namespace ir;

namespace {

void infer_qr(InferContext& c) {
  const ValueImpl& a = c.in(0);
  check_matrices(a, c.op);
  const std::string& mode = c.attrs<QrAttrs>().mode;
  TW_CHECK(mode == "reduced" || mode == "complete" || mode == "r", kRuntime, c.op,
           ": mode must be 'reduced', 'complete' or 'r', got '", mode, "'");
  int64_t m = a.size(-2), n = a.size(-1), k = mode == "complete" ? m : std::min(m, n);
  c.output(a.dtype, mode == "r" ? Dims{0} : with_last(a.sizes, {m, k}));
  c.output(a.dtype, with_last(a.sizes, {k, n}));
}

// gA of A [m, n] = Q R with m >= n.
Value tall_grad(const Value& q, const Value& r, const Value& gq, const Value& gr) {
  Value m;
  if (gr) m = product(gr, adjoint(r));
  if (gq) {
    Value inner = product(adjoint(q), gq);
    m = m ? m - inner : -inner;
  }
  Value upper = op<"triu">(m), strict = op<"triu">(m, 1), diagonal = upper - strict;
  if (is_complex(m->dtype)) diagonal = (diagonal + conj(diagonal)) * 0.5;
  Value core = product(q, strict + adjoint(strict) + diagonal);
  if (gq) core = core + gq;
  // core R⁻ᴴ
  return adjoint(op<"solve_triangular">(r, adjoint(core), true));
}

void qr_grad(GradContext& c) {
  const std::string& mode = c.attrs<QrAttrs>().mode;
  const Dims& sizes = c.input_meta(0).sizes;
  int64_t m = sizes[sizes.size() - 2], n = sizes[sizes.size() - 1];
  TW_CHECK(mode != "r", kRuntime, "linalg_qr: the gradient needs Q, which mode 'r' does not compute");
  TW_CHECK(
      mode != "complete" || m <= n, kRuntime,
      "linalg_qr: with mode 'complete' there is no gradient of matrices with more rows than columns, got ",
      sizes);
  Value q = c.output(0), r = c.output(1), gq = c.grad(0), gr = c.grad(1);
  if (m >= n) return c.set(0, tall_grad(q, r, gq, gr));
  auto columns = [&](const Value& x, int64_t from, int64_t to) { return op<"slice">(x, -1, from, to, 1); };
  Value right;
  if (gr) {
    Value gr2 = columns(gr, m, n);
    right = product(q, gr2);
    Value more = product(columns(c.input(0), m, n), adjoint(gr2));
    gq = gq ? gq + more : more;
  } else {
    right = op<"full">(with_last(sizes, {m, n - m}), 0, q->dtype);
  }
  Value left = tall_grad(q, columns(r, 0, m), gq, gr ? columns(gr, 0, m) : gr);
  c.set(0, op<"cat">(Values{left, right}, -1));
}

// Mode "r" gives an empty Q, which has no dim to split.
void sbp_qr(sbp::RuleContext& c) {
  for (int64_t dim = 0; dim + 2 < static_cast<int64_t>(c.inputs[0].size()); dim++) {
    bool without_q = c.attrs<QrAttrs>().mode == "r";
    c.add({{sbp::split(dim)}, {without_q ? sbp::broadcast() : sbp::split(dim), sbp::split(dim)}});
  }
}

}  // namespace

void define_qr(OpRegistry& r) {
  r.op("linalg_qr(Tensor A, str mode=\"reduced\") -> (Tensor Q, Tensor R)", &QrAttrs::mode)
      .doc("The decomposition A = Q R into orthonormal columns and an upper triangle.")
      .infer(infer_qr)
      .grad("A Q R", qr_grad)
      .autocast(Autocast::kFloat32)
      .sbp(sbp_qr)
      .cost(factorisation_cost<4>)
      .expose(kLinalg);
}

}  // namespace tw::ops
