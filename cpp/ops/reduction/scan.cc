// Scans along a dim: cumsum, cumprod, cummax, cummin, logcumsumexp.
//
// recurrence: y[k] = b[k] + a[k] y[k - 1], or from the end y[k] = b[k] + a[k] y[k + 1]. Its gradients are
// recurrences too, and the gradients of prod, cumprod and logcumsumexp are made of it: linear in time, of any
// order, and right where elements are zero, since nothing is divided.
#include "ops/reduction/scan.h"

#include "ops/reduction/along_dim.h"
#include "ops/reduction/reduced_shape.h"
#include "ops/reduction/selection.h"
#include "sbp/rules.h"

namespace tw::ops {

using namespace ir;

namespace {

DType sum_dtype(DType input, std::optional<DType> given) {
  return given.value_or(kind_of(input) <= DTypeKind::kInt ? DType::kInt64 : input);
}

void infer_cumulative(InferContext& c) {
  const auto& a = c.attrs<DimDTypeAttrs>();
  wrap_dim(a.dim, c.in(0).rank(), c.op);
  c.output(sum_dtype(c.in(0).dtype, a.dtype), c.in(0).sizes);
}

void infer_along(InferContext& c) {
  wrap_dim(c.attrs<RowDimAttrs>().dim, c.in(0).rank(), c.op);
  infer_same(c);
}

void infer_cumulative_extremum(InferContext& c) {
  TW_CHECK(!is_complex(c.in(0).dtype), kRuntime, c.op, ": complex numbers have no order");
  infer_along(c);
  c.output(DType::kInt64, c.in(0).sizes);
}

void infer_logcumsumexp(InferContext& c) {
  TW_CHECK(kind_of(c.in(0).dtype) >= DTypeKind::kFloat, kNotImplemented, c.op, ": dtype ", c.in(0).dtype,
           " is not supported");
  infer_along(c);
}

void infer_recurrence(InferContext& c) {
  TW_ASSERT(c.in(0).sizes == c.in(1).sizes, ==, true);
  wrap_dim(c.attrs<RecurrenceAttrs>().dim, c.in(0).rank(), c.op);
  infer_same(c);
}

void cumsum_grad(GradContext& c) { c.set(0, op<"cumsum_from_end">(c.grad(), c.attrs<DimDTypeAttrs>().dim)); }
void cumsum_from_end_grad(GradContext& c) { c.set(0, op<"cumsum">(c.grad(), c.attrs<RowDimAttrs>().dim)); }

Value recur(const Value& a, const Value& b, int64_t dim, bool from_end) {
  return op<"recurrence">(a, b, dim, from_end);
}

void recurrence_grad(GradContext& c) {
  const auto& a = c.attrs<RecurrenceAttrs>();
  // What flows back is y's recurrence run the other way: s[k] = g[k] + a[k + 1] s[k + 1].
  Value s = recur(conj(shift_by_one(c.input(0), a.dim, a.from_end)), c.grad(), a.dim, !a.from_end);
  if (c.needs(0)) c.set(0, s * conj(shift_by_one(c.output(), a.dim, !a.from_end)));
  if (c.needs(1)) c.set(1, s);
}

// 1 at the first (or last) place of dim, 0 elsewhere.
Value unit_end(const Value& like, int64_t dim, bool last) {
  int64_t n = like->rank() == 0 ? 1 : like->size(dim);
  if (like->rank() == 0) return op_ones_like(like);
  if (n == 0) return like;
  Dims sizes = like->sizes;
  sizes[dim < 0 ? dim + like->rank() : dim] = 1;
  Value one = op<"full">(sizes, 1, like->dtype);
  int64_t at = last ? n - 1 : 0;
  return op<"slice_scatter_zeros">(one, like->sizes, dim, at, at + 1, 1);
}

// The products of all elements before (after) each one.
Value products_beside(const Value& x, int64_t dim, bool after) {
  return recur(shift_by_one(x, dim, !after), unit_end(x, dim, after), dim, after);
}

void cumprod_grad(GradContext& c) {
  int64_t dim = c.attrs<DimDTypeAttrs>().dim;
  Value x = c.input(0);
  if (x->dtype != c.grad()->dtype) x = op<"cast">(x, c.grad()->dtype);
  // dx[k] = Σ_{i >= k} g[i] Π_{j <= i, j != k} x[j]
  Value later = recur(conj(shift_by_one(x, dim, false)), c.grad(), dim, true);
  c.set(0, later * conj(products_beside(x, dim, false)));
}

void prod_dim_grad(GradContext& c) {
  const auto& a = c.attrs<DimKeepDTypeAttrs>();
  Value x = c.input(0);
  if (x->rank() == 0) return c.set(0, c.grad());
  if (x->dtype != c.grad()->dtype) x = op<"cast">(x, c.grad()->dtype);
  Value others = products_beside(x, a.dim, false) * products_beside(x, a.dim, true);
  c.set(0, unreduce(c.grad(), x->sizes, IntList{a.dim}, a.keepdim, "prod") * conj(others));
}

void cumulative_extremum_grad(GradContext& c) {
  if (!c.grad()) return;
  int64_t dim = c.attrs<RowDimAttrs>().dim;
  c.set(0, add_at(c.grad(), c.output(1), c.input_meta(0).sizes, dim));
}

void logcumsumexp_grad(GradContext& c) {
  int64_t dim = c.attrs<RowDimAttrs>().dim;
  Value x = c.input(0), y = c.output();
  // dx[k] = Σ_{i >= k} g[i] exp(x[k] - y[i]); every factor of real numbers is at most 1, as y grows. Where y
  // is still -inf nothing has been added, and its factors are 0.
  constexpr double kInf = std::numeric_limits<double>::infinity();
  Value size = is_complex(y->dtype) ? op<"real">(y) : y;
  Value none = op<"eq">(size, -kInf), zeros = op_zeros_like(y);
  // y[k] - y[k + 1], and 0 at the end, which a recurrence from the end does not read.
  Value growth = shift_by_one(shift_by_one(y, dim, true) - y, dim, false);
  Value ratio = op<"where">(none, zeros, op<"exp">(conj(growth)));
  Value sums = recur(ratio, c.grad(), dim, true);
  c.set(0, op<"where">(none, zeros, sums * op<"exp">(conj(x - y))));
}

void infer_prod(InferContext& c) {
  const auto& a = c.attrs<DimKeepDTypeAttrs>();
  c.output(sum_dtype(c.in(0).dtype, a.dtype), reduced_sizes(c.in(0).sizes, IntList{a.dim}, a.keepdim, c.op));
}

void sbp_recurrence(sbp::RuleContext& c) {
  sbp_other_dims_of<RecurrenceAttrs>(c);
  sbp::add_pending(c, {1});  // linear in the terms
}

void sbp_prod(sbp::RuleContext& c) {
  const auto& a = c.attrs<DimKeepDTypeAttrs>();
  int64_t rank = static_cast<int64_t>(c.inputs[0].size());
  if (rank == 0) return;
  int64_t along = wrap_dim(a.dim, rank, "prod");
  for (int64_t dim = 0; dim < rank; dim++)
    if (dim != along) c.add({{sbp::split(dim)}, {sbp::split(a.keepdim || dim < along ? dim : dim - 1)}});
}

template <class A>
void sbp_cumsum(sbp::RuleContext& c) {
  sbp_other_dims_of<A>(c);
  sbp::add_pending(c, {0});
}

}  // namespace

void define_scan(OpRegistry& r) {
  r.op("cumsum(Tensor input, int dim, *, dtype? dtype=None) -> Tensor", &DimDTypeAttrs::dim,
       &DimDTypeAttrs::dtype)
      .doc("The sum of all elements up to each one along dim.")
      .input_dtype(&DimDTypeAttrs::dtype)
      .infer(infer_cumulative)
      .grad("", cumsum_grad)
      .autocast(Autocast::kFloat32)
      .sbp(sbp_cumsum<DimDTypeAttrs>)
      .cost(pointwise_cost<1>)
      .expose(kFunction | kMethod | kInplace);
  r.op("cumsum_from_end(Tensor input, int dim) -> Tensor", &RowDimAttrs::dim)
      .doc("The sum of all elements from each one on along dim.")
      .infer(infer_along)
      .grad("", cumsum_from_end_grad)
      .sbp(sbp_cumsum<RowDimAttrs>)
      .cost(pointwise_cost<1>);
  r.op("cumprod(Tensor input, int dim, *, dtype? dtype=None) -> Tensor", &DimDTypeAttrs::dim,
       &DimDTypeAttrs::dtype)
      .doc("The product of all elements up to each one along dim.")
      .input_dtype(&DimDTypeAttrs::dtype)
      .infer(infer_cumulative)
      .grad("input", cumprod_grad)
      .autocast(Autocast::kFloat32)
      .sbp(sbp_other_dims_of<DimDTypeAttrs>)
      .cost(pointwise_cost<1>)
      .expose(kFunction | kMethod | kInplace);
  r.op("cummax(Tensor input, int dim) -> (Tensor values, Tensor indices)", &RowDimAttrs::dim)
      .doc("The largest element up to each one along dim, and where the last such one stands.")
      .infer(infer_cumulative_extremum)
      .grad("indices", cumulative_extremum_grad)
      .sbp(sbp_other_dims_of<RowDimAttrs>)
      .cost(pointwise_cost<1>)
      .expose(kFunction | kMethod);
  r.op("cummin(Tensor input, int dim) -> (Tensor values, Tensor indices)", &RowDimAttrs::dim)
      .doc("The smallest element up to each one along dim, and where the last such one stands.")
      .infer(infer_cumulative_extremum)
      .grad("indices", cumulative_extremum_grad)
      .sbp(sbp_other_dims_of<RowDimAttrs>)
      .cost(pointwise_cost<1>)
      .expose(kFunction | kMethod);
  r.op("logcumsumexp(Tensor input, int dim) -> Tensor", &RowDimAttrs::dim)
      .doc("The logarithm of the sum of the exponentials up to each element along dim.")
      .promote(Promotion::kFloat)
      .infer(infer_logcumsumexp)
      .grad("input result", logcumsumexp_grad)
      .sbp(sbp_other_dims_of<RowDimAttrs>)
      .cost(pointwise_cost<30>)
      .expose(kFunction | kMethod);
  r.op("recurrence(Tensor factor, Tensor term, int dim, bool from_end=False) -> Tensor",
       &RecurrenceAttrs::dim, &RecurrenceAttrs::from_end)
      .doc("y[k] = term[k] + factor[k] y[k - 1] along dim, or with y[k + 1] from the end.")
      .infer(infer_recurrence)
      .grad("factor result", recurrence_grad)
      .sbp(sbp_recurrence)
      .cost(pointwise_cost<2>);
  r.op("prod_dim(Tensor input, int dim, bool keepdim=False, *, dtype? dtype=None) -> Tensor",
       &DimKeepDTypeAttrs::dim, &DimKeepDTypeAttrs::keepdim, &DimKeepDTypeAttrs::dtype)
      .doc("The product of the elements along dim.")
      .input_dtype(&DimKeepDTypeAttrs::dtype)
      .infer(infer_prod)
      .grad("input", prod_dim_grad)
      .autocast(Autocast::kFloat32)
      .sbp(sbp_prod)
      .cost(reduction_cost<1>);
}

}  // namespace tw::ops
