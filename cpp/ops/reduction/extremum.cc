// amax, amin: the largest or smallest element over some dims; ties share the gradient.
// max_dim, min_dim: over one dim, with the place of the first one; argmax, argmin: the place alone.
// A NaN is more extreme than any number.
#include "ops/reduction/reduced_shape.h"
#include "ops/reduction/selection.h"

namespace tw::ops {

using namespace ir;

namespace {

void check_real(InferContext& c) {
  TW_CHECK(!is_complex(c.in(0).dtype), kRuntime, c.op, ": complex numbers have no order, got ",
           c.in(0).dtype);
}

void infer_extremum(InferContext& c) {
  const auto& a = c.attrs<ReduceAttrs>();
  const ValueImpl& x = c.in(0);
  check_real(c);
  for (int64_t dim : reduced_dims(a.dim, x.rank(), c.op))
    TW_CHECK(x.rank() == 0 || x.size(dim) > 0, kIndex, c.op, ": the reduced dim ", dim,
             " is empty: input is ", x.sizes);
  c.output(x.dtype, reduced_sizes(x.sizes, a.dim, a.keepdim, c.op));
}

void extremum_grad(GradContext& c) {
  const auto& a = c.attrs<ReduceAttrs>();
  Value x = c.input(0);
  Value best = unreduce(c.output(), x->sizes, a.dim, a.keepdim, "amax");
  Value hit = op<"cast">(op<"eq">(x, best), c.grad()->dtype);
  IntList dims = reduced_dims(a.dim, x->rank(), "amax");
  if (x->rank() == 0) return c.set(0, c.grad() * hit);
  Value share = unreduce(c.grad(), x->sizes, a.dim, a.keepdim, "amax") / op<"sum">(hit, dims, true);
  c.set(0, share * hit);
}

template <sbp::ReduceOp kOp>
void sbp_extremum(sbp::RuleContext& c) {
  // A split of a reduced dim may leave a device nothing, and nothing has no largest element.
  add_reduction_splits<ReduceAttrs>(c, "amax", std::nullopt);
  c.add({{sbp::partial(kOp)}, {sbp::partial(kOp)}});
}

void infer_extremum_dim(InferContext& c) {
  const auto& a = c.attrs<DimKeepAttrs>();
  check_real(c);
  Dims sizes = selected_sizes(c.in(0), a.dim, a.keepdim, c.op);
  c.output(c.in(0).dtype, sizes);
  c.output(DType::kInt64, sizes);
}

void infer_arg(InferContext& c) {
  const auto& a = c.attrs<OptionalDimAttrs>();
  const ValueImpl& x = c.in(0);
  check_real(c);
  if (a.dim) return c.output(DType::kInt64, selected_sizes(x, *a.dim, a.keepdim, c.op));
  TW_CHECK(x.count() > 0, kIndex, c.op, ": the input is empty: ", x.sizes);
  c.output(DType::kInt64, reduced_sizes(x.sizes, std::nullopt, a.keepdim, c.op));
}

void sbp_arg(sbp::RuleContext& c) {
  const auto& a = c.attrs<OptionalDimAttrs>();
  if (!a.dim || c.inputs[0].empty()) return;
  int64_t rank = static_cast<int64_t>(c.inputs[0].size()), along = wrap_dim(*a.dim, rank, "argmax");
  for (int64_t dim = 0; dim < rank; dim++)
    if (dim != along) c.add({{sbp::split(dim)}, {sbp::split(a.keepdim || dim < along ? dim : dim - 1)}});
}

}  // namespace

void define_extremum(OpRegistry& r) {
  r.op("amax(Tensor input, int[]? dim=None, bool keepdim=False) -> Tensor", &ReduceAttrs::dim,
       &ReduceAttrs::keepdim)
      .doc("The largest element over the given dims.")
      .infer(infer_extremum)
      .grad("input result", extremum_grad)
      .sbp(sbp_extremum<sbp::ReduceOp::kMax>)
      .cost(reduction_cost<1>)
      .expose(kFunction | kMethod);
  r.op("amin(Tensor input, int[]? dim=None, bool keepdim=False) -> Tensor", &ReduceAttrs::dim,
       &ReduceAttrs::keepdim)
      .doc("The smallest element over the given dims.")
      .infer(infer_extremum)
      .grad("input result", extremum_grad)
      .sbp(sbp_extremum<sbp::ReduceOp::kMin>)
      .cost(reduction_cost<1>)
      .expose(kFunction | kMethod);
  r.op("max_dim(Tensor input, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
       &DimKeepAttrs::dim, &DimKeepAttrs::keepdim)
      .doc("The largest element over one dim and the index of the first such one.")
      .infer(infer_extremum_dim)
      .grad("indices", selection_grad<DimKeepAttrs>)
      .sbp(sbp_selection<DimKeepAttrs>)
      .cost(reduction_cost<2>);
  r.op("min_dim(Tensor input, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
       &DimKeepAttrs::dim, &DimKeepAttrs::keepdim)
      .doc("The smallest element over one dim and the index of the first such one.")
      .infer(infer_extremum_dim)
      .grad("indices", selection_grad<DimKeepAttrs>)
      .sbp(sbp_selection<DimKeepAttrs>)
      .cost(reduction_cost<2>);
  r.op("argmax(Tensor input, int? dim=None, bool keepdim=False) -> Tensor", &OptionalDimAttrs::dim,
       &OptionalDimAttrs::keepdim)
      .doc("The index of the first largest element over a dim, or over the flattened input.")
      .infer(infer_arg)
      .no_grad("an index")
      .sbp(sbp_arg)
      .cost(reduction_cost<2>)
      .expose(kFunction | kMethod);
  r.op("argmin(Tensor input, int? dim=None, bool keepdim=False) -> Tensor", &OptionalDimAttrs::dim,
       &OptionalDimAttrs::keepdim)
      .doc("The index of the first smallest element over a dim, or over the flattened input.")
      .infer(infer_arg)
      .no_grad("an index")
      .sbp(sbp_arg)
      .cost(reduction_cost<2>)
      .expose(kFunction | kMethod);
}

}  // namespace tw::ops
