// moments: variance (or its root) and mean over some dims; var, std, var_mean and std_mean are made of it.
//
//   var = Σ (x - mean)² / max(0, n - correction)
#include "ops/reduction/reduced_shape.h"

namespace tw::ops {

using namespace ir;

namespace {

void infer_moments(InferContext& c) {
  const auto& a = c.attrs<MomentsAttrs>();
  TW_CHECK(is_float(c.in(0).dtype), kRuntime, c.op, ": a floating dtype is wanted, got ", c.in(0).dtype);
  Dims sizes = reduced_sizes(c.in(0).sizes, a.dim, a.keepdim, c.op);
  c.output(c.in(0).dtype, sizes);
  c.output(c.in(0).dtype, sizes);
}

void moments_grad(GradContext& c) {
  const auto& a = c.attrs<MomentsAttrs>();
  Value x = c.input(0), gradient;
  double outputs = static_cast<double>(c.output_meta(0).sizes.empty() ? 1 : numel(c.output_meta(0).sizes));
  double count = outputs > 0 ? static_cast<double>(x->count()) / outputs : 0;
  auto spread = [&](const Value& value) { return unreduce(value, x->sizes, a.dim, a.keepdim, "var"); };
  if (Value g = c.grad(0)) {
    if (a.root) {  // the root's slope at 0 is taken as 0
      Value root = c.output(0);
      g = op<"where">(op<"eq">(root, 0.0), op<"full">(g->sizes, 0, g->dtype), g / (root * 2.0));
    }
    double freedom = std::max(0.0, count - a.correction);
    gradient = spread(g) * (x - spread(c.output(1))) * (2.0 / freedom);
  }
  if (c.grad(1)) {
    Value through_mean = spread(c.grad(1) * (1.0 / count));
    gradient = gradient ? gradient + through_mean : through_mean;
  }
  c.set(0, gradient);
}

void sbp_moments(sbp::RuleContext& c) { add_reduction_splits<MomentsAttrs>(c, "var", std::nullopt); }

}  // namespace

void define_moments(OpRegistry& r) {
  r.op("moments(Tensor input, int[]? dim=None, float correction=1.0, bool keepdim=False, bool root=False)"
       " -> (Tensor result, Tensor mean)",
       &MomentsAttrs::dim, &MomentsAttrs::correction, &MomentsAttrs::keepdim, &MomentsAttrs::root)
      .doc("The variance (its root when asked) and the mean over the given dims.")
      .infer(infer_moments)
      .grad("input result mean", moments_grad)
      .sbp(sbp_moments)
      .cost(reduction_cost<4>);
}

}  // namespace tw::ops
