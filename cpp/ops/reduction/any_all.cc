// any, all: is any (every) element over some dims nonzero; NaN counts as nonzero. count_nonzero: how many
// are. The result is bool, but uint8 for uint8.
#include "ops/reduction/reduced_shape.h"

namespace tw::ops {

using namespace ir;

namespace {

void infer_any_all(InferContext& c) {
  const auto& a = c.attrs<ReduceAttrs>();
  DType dtype = c.in(0).dtype == DType::kUInt8 ? DType::kUInt8 : DType::kBool;
  c.output(dtype, reduced_sizes(c.in(0).sizes, a.dim, a.keepdim, c.op));
}

void infer_count(InferContext& c) {
  const auto& a = c.attrs<ReduceAttrs>();
  c.output(DType::kInt64, reduced_sizes(c.in(0).sizes, a.dim, a.keepdim, c.op));
}

template <sbp::ReduceOp kOp>
void sbp_reduced(sbp::RuleContext& c) {
  add_reduction_splits<ReduceAttrs>(c, "any", kOp);
}

}  // namespace

void define_any_all(OpRegistry& r) {
  r.op("any(Tensor input, int[]? dim=None, bool keepdim=False) -> Tensor", &ReduceAttrs::dim,
       &ReduceAttrs::keepdim)
      .doc("True where any element over the given dims is nonzero.")
      .infer(infer_any_all)
      .no_grad("a truth value")
      .sbp(sbp_reduced<sbp::ReduceOp::kMax>)
      .cost(reduction_cost<1>)
      .expose(kFunction | kMethod);
  r.op("all(Tensor input, int[]? dim=None, bool keepdim=False) -> Tensor", &ReduceAttrs::dim,
       &ReduceAttrs::keepdim)
      .doc("True where every element over the given dims is nonzero.")
      .infer(infer_any_all)
      .no_grad("a truth value")
      .sbp(sbp_reduced<sbp::ReduceOp::kMin>)
      .cost(reduction_cost<1>)
      .expose(kFunction | kMethod);
  r.op("count_nonzero_dims(Tensor input, int[]? dim=None, bool keepdim=False) -> Tensor", &ReduceAttrs::dim,
       &ReduceAttrs::keepdim)
      .doc("The number of nonzero elements over the given dims.")
      .infer(infer_count)
      .no_grad("a count")
      .sbp(sbp_reduced<sbp::ReduceOp::kSum>)
      .cost(reduction_cost<1>);
}

}  // namespace tw::ops
