// mean over some dims or all, of floats and complex numbers; an empty mean is NaN.
#include "ops/reduction/mean.h"

#include "ops/reduction/reduced_shape.h"

namespace tw::ops {

using namespace ir;

namespace {

void infer_mean(InferContext& c) {
  const auto& a = c.attrs<MeanAttrs>();
  DType dtype = a.dtype.value_or(c.in(0).dtype);
  TW_CHECK(kind_of(dtype) >= DTypeKind::kFloat, kRuntime, "mean: a floating or complex dtype is wanted, got ",
           dtype, "; pass dtype=");
  c.output(dtype, reduced_sizes(c.in(0).sizes, a.dim, a.keepdim, c.op));
}

void mean_grad(GradContext& c) {
  const auto& a = c.attrs<MeanAttrs>();
  const Dims& sizes = c.input_meta(0).sizes;
  double outputs = static_cast<double>(c.grad()->count());
  double share = a.count       ? 1 / static_cast<double>(*a.count)
                 : outputs > 0 ? outputs / static_cast<double>(numel(sizes))
                               : 0;
  c.set(0, unreduce(c.grad() * share, sizes, a.dim, a.keepdim, "mean"));
}

void sbp_mean(sbp::RuleContext& c) {
  add_reduction_splits<MeanAttrs>(c, "mean", sbp::ReduceOp::kSum);
  c.add({{sbp::partial()}, {sbp::partial()}});
}

// Parts are divided by what the whole has, so that they add up to its mean.
void localize_mean(ShardContext& c) {
  int64_t outputs = numel(c.whole_outputs[0]);
  if (outputs > 0) c.attrs<MeanAttrs>().count = numel(c.whole_inputs[0]) / outputs;
}

}  // namespace

void define_mean(OpRegistry& r) {
  r.op("mean(Tensor input, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None, int? _count=None) -> "
       "Tensor",
       &MeanAttrs::dim, &MeanAttrs::keepdim, &MeanAttrs::dtype, &MeanAttrs::count)
      .doc("The mean of the elements over the given dims.")
      .input_dtype(&MeanAttrs::dtype)
      .infer(infer_mean)
      .grad("", mean_grad)
      .sbp(sbp_mean)
      .localize(localize_mean)
      .cost(reduction_cost<1>)
      .expose(kFunction | kMethod);
}

}  // namespace tw::ops
