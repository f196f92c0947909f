// mean over some dims or all, of floats and complex numbers; an empty mean is NaN.
#include "ops/reduction/reduced_shape.h"

namespace tw::ops {

using namespace ir;

namespace {

void infer_mean(InferContext& c) {
  const auto& a = c.attrs<ReduceDTypeAttrs>();
  DType dtype = a.dtype.value_or(c.in(0).dtype);
  TW_CHECK(kind_of(dtype) >= DTypeKind::kFloat, kRuntime, "mean: a floating or complex dtype is wanted, got ",
           dtype, "; pass dtype=");
  c.output(dtype, reduced_sizes(c.in(0).sizes, a.dim, a.keepdim, c.op));
}

void mean_grad(GradContext& c) {
  const auto& a = c.attrs<ReduceDTypeAttrs>();
  const Dims& sizes = c.input_meta(0).sizes;
  double outputs = static_cast<double>(c.grad()->count());
  double share = outputs > 0 ? outputs / static_cast<double>(numel(sizes)) : 0;
  c.set(0, unreduce(c.grad() * share, sizes, a.dim, a.keepdim, "mean"));
}

void sbp_mean(sbp::RuleContext& c) {
  // A split of a reduced dim would need the sizes of the shards, so only kept dims are split.
  add_reduction_splits<ReduceDTypeAttrs>(c, "mean", std::nullopt);
  c.add({{sbp::partial()}, {sbp::partial()}});
}

}  // namespace

void define_mean(OpRegistry& r) {
  r.op("mean(Tensor input, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None) -> Tensor",
       &ReduceDTypeAttrs::dim, &ReduceDTypeAttrs::keepdim, &ReduceDTypeAttrs::dtype)
      .doc("The mean of the elements over the given dims.")
      .input_dtype(&ReduceDTypeAttrs::dtype)
      .infer(infer_mean)
      .grad("", mean_grad)
      .sbp(sbp_mean)
      .cost(reduction_cost<1>)
      .expose(kFunction | kMethod);
}

}  // namespace tw::ops
