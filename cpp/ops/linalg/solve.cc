// Linear systems with square matrices A [..., n, n] through the factors P L U: solve_matrices (A X = B, B
// [..., n, k], batches broadcast), linalg_inv_ex; solve_triangular, which needs no factors, and
// solve_factored, A = L Lᴴ (or, upper, Lᴴ L) given by L.
//
// Gradients: of X = A⁻¹B, gB = A⁻ᴴ gX and gA = -gB Xᴴ (Giles, "Collected matrix derivative results", 2008).
#include "ops/linalg/solve.h"

#include "ops/linalg/factorisation.h"

namespace tw::ops {

using namespace ir;

namespace {

void infer_system(InferContext& c) {
  const ValueImpl &a = c.in(0), &b = c.in(1);
  check_square(a, c.op);
  check_matrices(b, c.op);
  TW_CHECK(a.dtype == b.dtype, kRuntime, c.op, ": A and B of one dtype are wanted, got ", a.dtype, " and ",
           b.dtype);
  TW_CHECK(a.size(-1) == b.size(-2), kRuntime, c.op, ": as many rows of B as A has are wanted, A is ",
           a.sizes, ", B is ", b.sizes);
  Dims batch = broadcast_sizes(batch_sizes(a.sizes), batch_sizes(b.sizes), c.op), sizes = batch;
  sizes.push_back(b.size(-2));
  sizes.push_back(b.size(-1));
  c.output(a.dtype, sizes);
}

void infer_solve(InferContext& c) {
  infer_system(c);
  c.output(DType::kInt32, batch_sizes(c.outputs[0].sizes));
}

void infer_inv(InferContext& c) {
  check_square(c.in(0), c.op);
  c.output(c.in(0).dtype, c.in(0).sizes);
  c.output(DType::kInt32, batch_sizes(c.in(0).sizes));
}

void solve_grad(GradContext& c) {
  if (!c.grad()) return;
  Value gb = op<"solve_matrices">(adjoint(c.input(0)), c.grad(), false);
  if (c.needs(0)) c.set(0, -product(gb, adjoint(c.output())));
  if (c.needs(1)) c.set(1, gb);
}

void inv_grad(GradContext& c) {
  if (!c.grad()) return;
  Value inverse = adjoint(c.output());
  c.set(0, -product(inverse, product(c.grad(), inverse)));
}

void triangular_grad(GradContext& c) {
  const auto& a = c.attrs<TriangularAttrs>();
  Value gb = op<"solve_triangular">(adjoint(c.input(0)), c.grad(), !a.upper, a.unitriangular);
  if (c.needs(0)) {
    Value ga = -product(gb, adjoint(c.output()));
    int64_t shift = a.unitriangular ? 1 : 0;
    c.set(0, a.upper ? op<"triu">(ga, shift) : op<"tril">(ga, -shift));
  }
  if (c.needs(1)) c.set(1, gb);
}

// gA as above, gL = (gA + gAᴴ) L.
void factored_grad(GradContext& c) {
  bool upper = c.attrs<UpperAttrs>().upper;
  Value factor = c.input(0), gb = op<"solve_factored">(factor, c.grad(), upper);
  if (c.needs(1)) c.set(1, gb);
  if (!c.needs(0)) return;
  Value ga = product(gb, adjoint(c.output()));
  ga = -(ga + adjoint(ga));
  c.set(0, upper ? product(factor, ga) : product(ga, factor));
}

// Batches may be split, and the columns of B, each of which is a system of its own.
void sbp_system(sbp::RuleContext& c) {
  auto rank = static_cast<int64_t>(c.outputs[0].size());
  for (int64_t dim = 0; dim + 2 < rank; dim++) {
    sbp::Signature signature = c.all_broadcast();
    for (size_t i = 0; i < 2; i++) {
      int64_t own = dim - rank + static_cast<int64_t>(c.inputs[i].size());
      if (own >= 0 && c.inputs[i][own] == c.outputs[0][dim]) signature.inputs[i] = sbp::split(own);
    }
    for (sbp::Sbp& output : signature.outputs) output = sbp::split(dim);
    c.add(std::move(signature));
  }
  sbp::Signature columns = c.all_broadcast();
  columns.inputs[1] = sbp::split(static_cast<int64_t>(c.inputs[1].size()) - 1);
  columns.outputs[0] = sbp::split(rank - 1);
  c.add(std::move(columns));
  sbp::Signature pending = c.all_broadcast();  // linear in B
  pending.inputs[1] = pending.outputs[0] = sbp::partial();
  c.add(std::move(pending));
}

template <int kFactor>
Cost system_cost(const CostContext& c) {
  auto n = static_cast<double>(c.inputs[0].sizes.back());
  return {kFactor * c.input_count() * n + 2 * c.output_count() * n, c.bytes(), 2 * c.bytes()};
}

}  // namespace

void define_solve(OpRegistry& r) {
  r.op("solve_matrices(Tensor A, Tensor B, bool check_errors=True) -> (Tensor result, Tensor info)",
       &CheckErrorsAttrs::check_errors)
      .doc("The X of A X = B; info is the number of the first pivot that is zero, or 0.")
      .infer(infer_solve)
      .grad("A result(A)", solve_grad)
      .autocast(Autocast::kFloat32)
      .sbp(sbp_system)
      .cost(system_cost<1>);
  r.op("linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info)",
       &CheckErrorsAttrs::check_errors)
      .doc("The inverses of matrices; info is the number of the first pivot that is zero, or 0.")
      .infer(infer_inv)
      .grad("inverse", inv_grad)
      .autocast(Autocast::kFloat32)
      .sbp(sbp_of_batch)
      .cost(factorisation_cost<2>)
      .expose(kLinalg);
  r.op("solve_triangular(Tensor A, Tensor B, bool upper, bool unitriangular=False) -> Tensor",
       &TriangularAttrs::upper, &TriangularAttrs::unitriangular)
      .doc("The X of A X = B for triangular matrices A, whose other triangle is not read.")
      .infer(infer_system)
      .grad("A result(A)", triangular_grad)
      .autocast(Autocast::kFloat32)
      .sbp(sbp_system)
      .cost(system_cost<0>);
  r.op("solve_factored(Tensor L, Tensor B, bool upper) -> Tensor", &UpperAttrs::upper)
      .doc(
          "The X of L Lᴴ X = B for lower L, or of Lᴴ L X = B for upper ones; the other triangle is not read.")
      .infer(infer_system)
      .grad("L result(L)", factored_grad)
      .autocast(Autocast::kFloat32)
      .sbp(sbp_system)
      .cost(system_cost<0>);
}

}  // namespace tw::ops
