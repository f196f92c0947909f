// linalg_lu_factor_ex: A = P L U of matrices [..., m, n]: the unit lower L [m, k] and the upper U [k, n] in
// one matrix, k = min(m, n), and the exchanges of rows that make P; lu_solve_matrices solves with them.
//
// Gradients. With B = Pᵀ A = L U square: gB = L⁻ᴴ (strict lower(Lᴴ gL) + upper(gU Uᴴ)) U⁻ᴴ. More rows than
// columns: L = [L₁; L₂] and L₂ = B₂ U⁻¹; more columns than rows: U = [U₁ U₂] and U₂ = L⁻¹ B₂, each a system
// on top of the square part (de Hoog, Anderssen and Lukas, "Differentiation of matrix functionals using
// triangular factorization", 2011).
#include "ops/linalg/lu.h"

#include "ops/linalg/factorisation.h"

namespace tw::ops {

using namespace ir;

namespace {

void infer_lu_factor(InferContext& c) {
  const ValueImpl& a = c.in(0);
  check_matrices(a, c.op);
  TW_CHECK(c.attrs<LuAttrs>().pivot, kRuntime, c.op, ": pivot must be True on the CPU");
  c.output(a.dtype, a.sizes);
  c.output(DType::kInt32, with_last(a.sizes, {std::min(a.size(-1), a.size(-2))}));
  c.output(DType::kInt32, batch_sizes(a.sizes));
}

void infer_permutation(InferContext& c) {
  const ValueImpl& pivots = c.in(0);
  int64_t rows = c.attrs<PivotsAttrs>().rows;
  TW_CHECK(pivots.rank() >= 1 && pivots.dtype == DType::kInt32 && pivots.size(-1) <= rows, kRuntime, c.op,
           ": at most ", rows, " pivots of int32 are wanted, got shape ", pivots.sizes, " of ", pivots.dtype);
  Dims sizes = pivots.sizes;
  sizes.back() = rows;
  c.output(DType::kInt64, sizes);
}

void infer_lu_solve(InferContext& c) {
  const ValueImpl &lu = c.in(0), &pivots = c.in(1), &b = c.in(2);
  check_square(lu, c.op);
  check_matrices(b, c.op);
  TW_CHECK(lu.dtype == b.dtype, kRuntime, c.op, ": LU and B of one dtype are wanted, got ", lu.dtype, " and ",
           b.dtype);
  TW_CHECK(pivots.dtype == DType::kInt32, kRuntime, c.op, ": pivots of int32 are wanted, got ", pivots.dtype);
  TW_CHECK(pivots.sizes == Dims(lu.sizes.begin(), lu.sizes.end() - 1), kRuntime, c.op,
           ": a pivot for each row of LU is wanted, got shapes ", pivots.sizes, " and ", lu.sizes);
  TW_CHECK(lu.size(-1) == b.size(-2), kRuntime, c.op, ": as many rows of B as LU has are wanted, LU is ",
           lu.sizes, ", B is ", b.sizes);
  Dims sizes = broadcast_sizes(batch_sizes(lu.sizes), batch_sizes(b.sizes), c.op);
  sizes.push_back(b.size(-2));
  sizes.push_back(b.size(-1));
  c.output(lu.dtype, sizes);
}

Value part(const Value& x, int64_t dim, int64_t from, int64_t to) { return op<"slice">(x, dim, from, to, 1); }
Value solve_lower(const Value& l, const Value& b) {
  return op<"solve_triangular">(adjoint(l), b, true, true);
}
// b U⁻ᴴ
Value divide_upper(const Value& b, const Value& u) {
  return adjoint(op<"solve_triangular">(u, adjoint(b), true));
}

// P x, or Pᵀ x, of x [..., rows, columns].
Value permuted(const Value& x, const Value& pivots, bool back) {
  Value rows = op<"permutation_of_pivots">(pivots, x->size(-2), back);
  return op<"gather">(x, -2, op<"expand">(as_column(rows), x->sizes));
}

// gB of a square B = L U.
Value square_grad(const Value& l, const Value& u, const Value& gl, const Value& gu) {
  Value core = op<"tril">(product(adjoint(l), gl), -1) + op<"triu">(product(gu, adjoint(u)));
  return divide_upper(solve_lower(l, core), u);
}

void lu_factor_grad(GradContext& c) {
  if (!c.grad()) return;
  Value lu = c.output(0), g = c.grad();
  int64_t m = lu->size(-2), n = lu->size(-1), k = std::min(m, n);
  auto top = [&](const Value& x) { return part(part(x, -2, 0, k), -1, 0, k); };
  Value l = op<"tril">(top(lu), -1) + identity(k, lu->dtype), u = op<"triu">(top(lu));
  Value gl = op<"tril">(top(g), -1), gu = op<"triu">(top(g)), gb;
  if (m > n) {
    Value rest = divide_upper(part(g, -2, n, m), u);
    gu = gu - op<"triu">(product(adjoint(part(lu, -2, n, m)), rest));
    gb = op<"cat">(Values{square_grad(l, u, gl, gu), rest}, -2);
  } else if (m < n) {
    Value rest = solve_lower(l, part(g, -1, m, n));
    gl = gl - op<"tril">(product(rest, adjoint(part(lu, -1, m, n))), -1);
    gb = op<"cat">(Values{square_grad(l, u, gl, gu), rest}, -1);
  } else {
    gb = square_grad(l, u, gl, gu);
  }
  c.set(0, permuted(gb, c.output(1), true));
}

// gA as for any system; A = P L U gives gL = strict lower(Pᵀ gA Uᴴ) and gU = upper(Lᴴ Pᵀ gA).
void lu_solve_grad(GradContext& c) {
  bool adjoint_system = c.attrs<LuSolveAttrs>().adjoint;
  Value lu = c.input(0), pivots = c.input(1);
  Value gb = op<"lu_solve_matrices">(lu, pivots, c.grad(), !adjoint_system);
  if (c.needs(2)) c.set(2, gb);
  if (!c.needs(0)) return;
  Value x = c.output();
  Value ga = -(adjoint_system ? product(x, adjoint(gb)) : product(gb, adjoint(x)));
  Dims wanted = with_last(ga->sizes, {pivots->size(-1)});
  Value turned = permuted(ga, pivots->sizes == Dims(wanted) ? pivots : op<"expand">(pivots, wanted), false);
  Value l = op<"tril">(lu, -1) + identity(lu->size(-1), lu->dtype), u = op<"triu">(lu);
  Value gl = op<"tril">(product(turned, adjoint(u)), -1), gu = op<"triu">(product(adjoint(l), turned));
  c.set(0, gl + gu);
}

void sbp_lu_solve(sbp::RuleContext& c) {
  auto rank = static_cast<int64_t>(c.outputs[0].size());
  for (int64_t dim = 0; dim + 2 < rank; dim++) {
    sbp::Signature signature = c.all_broadcast();
    for (size_t i : {0, 2}) {
      int64_t own = dim - rank + static_cast<int64_t>(c.inputs[i].size());
      if (own < 0 || c.inputs[i][own] != c.outputs[0][dim]) continue;
      signature.inputs[i] = sbp::split(own);
      if (i == 0) signature.inputs[1] = sbp::split(own);
    }
    signature.outputs[0] = sbp::split(dim);
    c.add(std::move(signature));
  }
  c.add({{sbp::broadcast(), sbp::broadcast(), sbp::split(static_cast<int64_t>(c.inputs[2].size()) - 1)},
         {sbp::split(rank - 1)}});
  c.add({{sbp::broadcast(), sbp::broadcast(), sbp::partial()}, {sbp::partial()}});  // linear in B
}

void sbp_permutation(sbp::RuleContext& c) {
  for (int64_t dim = 0; dim + 1 < static_cast<int64_t>(c.inputs[0].size()); dim++)
    c.add({{sbp::split(dim)}, {sbp::split(dim)}});
}

Cost lu_solve_cost(const CostContext& c) {
  return {2 * c.output_count() * static_cast<double>(c.inputs[0].sizes.back()), c.bytes(), 2 * c.bytes()};
}

}  // namespace

void define_lu(OpRegistry& r) {
  r.op("linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False) -> (Tensor LU, Tensor "
       "pivots, "
       "Tensor info)",
       &LuAttrs::pivot, &LuAttrs::check_errors)
      .doc(
          "The factors L and U of matrices in one, the exchanges of rows, and the first zero pivot's number "
          "or 0.")
      .infer(infer_lu_factor)
      .grad("LU pivots", lu_factor_grad)
      .autocast(Autocast::kFloat32)
      .sbp(sbp_of_batch)
      .cost(factorisation_cost<1>)
      .expose(kLinalg);
  r.op("permutation_of_pivots(Tensor pivots, int rows, bool inverse=False) -> Tensor", &PivotsAttrs::rows,
       &PivotsAttrs::inverse)
      .doc("Which row of A stands in each row of L U; inverse: where each row of A went.")
      .infer(infer_permutation)
      .no_grad("its input and output are integers")
      .sbp(sbp_permutation)
      .cost(copy_cost);
  r.op("lu_solve_matrices(Tensor LU, Tensor pivots, Tensor B, bool adjoint=False) -> Tensor",
       &LuSolveAttrs::adjoint)
      .doc("The X of A X = B, or of Aᴴ X = B, for the A that LU and pivots are factors of.")
      .infer(infer_lu_solve)
      .grad("LU pivots result(LU)", lu_solve_grad)
      .autocast(Autocast::kFloat32)
      .sbp(sbp_lu_solve)
      .cost(lu_solve_cost);
}

}  // namespace tw::ops
