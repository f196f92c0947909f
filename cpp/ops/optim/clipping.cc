// What happens to all gradients between backward and step.
//   multi_tensor_norm     (Σ |x|^p)^(1/p) over the elements of all tensors; max or min |x| for p = ±inf; for
//   p = 0 the
//                         number of tensors that are not all zero (the 0-norm of the tensors' norms, as in
//                         PyTorch)
//   multi_tensor_clip     x *= min(1, max_norm / (total_norm + 1e-6)) in every tensor
//   multi_tensor_unscale  x *= factor in every tensor; found_inf becomes true where some x was not finite
#include "ops/optim/clipping.h"

#include <cmath>

#include "ir/registry.h"
#include "ops/optim/multi_tensor.h"

namespace tw::ops {

using namespace ir;

namespace {

void infer_norm(InferContext& c) {
  check_floats(c, c.inputs);
  TW_CHECK(!c.inputs.empty(), kValue, c.op, ": at least one tensor is wanted");
  DType dtype = c.in(0).dtype;
  for (const ValueImpl* tensor : c.inputs) dtype = promote(dtype, tensor->dtype);
  c.output(dtype, {});
}

void infer_clip(InferContext& c) {
  check_floats(c, c.inputs);
  TW_CHECK(numel(c.param(1).sizes) == 1, kValue, c.op, ": a total_norm of one element is wanted, got shape ",
           c.param(1).sizes);
}

void infer_unscale(InferContext& c) {
  check_floats(c, c.list(0));
  TW_CHECK(is_bool(c.param(1).dtype) && numel(c.param(1).sizes) == 1, kValue, c.op,
           ": found_inf must be one bool, got shape ", c.param(1).sizes, " and dtype ", c.param(1).dtype);
}

// The largest element of the shards' largest ones, or the smallest of the smallest; a tensor that is not
// split counts on every rank, harmlessly.
void sbp_norm(sbp::RuleContext& c) {
  double p = c.attrs<NormAttrs>().p;
  if (std::isfinite(p)) return;
  sbp_tuples(c);
  sbp::Sbp pending = sbp::partial(p > 0 ? sbp::ReduceOp::kMax : sbp::ReduceOp::kMin);
  for (sbp::Signature& signature : c.signatures) signature.outputs = {pending};
}

// Each device says what it has found in its parts.
void sbp_unscale(sbp::RuleContext& c) {
  sbp_tuples(c);
  c.add(c.all_broadcast());
  for (sbp::Signature& signature : c.signatures) signature.inputs.back() = sbp::partial(sbp::ReduceOp::kMax);
}

Cost norm_cost(const CostContext& c) { return {c.bytes(), c.bytes(), 0}; }

}  // namespace

void define_clipping(OpRegistry& r) {
  r.op("multi_tensor_norm(Tensor[] tensors, *, float p=2.0) -> Tensor", &NormAttrs::p)
      .doc("The p-norm of all elements of all tensors, a scalar.")
      .infer(infer_norm)
      .no_grad("the total norm is not part of the loss")
      .sbp(sbp_norm)
      .cost(norm_cost);
  r.op("multi_tensor_clip(Tensor[] tensors, Tensor total_norm, *, float max_norm) -> ()",
       &ClipAttrs::max_norm)
      .doc("Scales all tensors in place by min(1, max_norm / (total_norm + 1e-6)).")
      .infer(infer_clip)
      .mutates("tensors")
      .no_grad("clipping is never recorded")
      .sbp(sbp_tuples)
      .cost(multi_tensor_cost<1>);
  r.op("multi_tensor_unscale(Tensor[] tensors, Tensor found_inf, *, float factor) -> ()",
       &UnscaleAttrs::factor)
      .doc("Scales all tensors in place and says in found_inf whether an element was infinite or no number.")
      .infer(infer_unscale)
      .mutates("tensors found_inf")
      .no_grad("unscaling is never recorded")
      .sbp(sbp_unscale)
      .cost(multi_tensor_cost<2>);
}

}  // namespace tw::ops
