// group_norm: (x - mean) rstd w + b with the statistics of each sample's groups of channels; weight and bias
// are of each channel. Wu and He, arXiv:1803.08494. instance_norm is group_norm with as many groups as
// channels.
#include "ops/norm_second_order.h"
#include "ops/normalisation/normalisation.h"
#include "ops/shape_checks.h"

namespace tw::ops {

using namespace ir;

namespace {

DType stat_dtype(DType dtype) { return is_half(dtype) ? DType::kFloat32 : dtype; }

void infer_group_norm(InferContext& c) {
  const ValueImpl& x = c.in(0);
  int64_t groups = c.attrs<GroupNormAttrs>().num_groups;
  TW_CHECK(is_float(x.dtype), kNotImplemented, c.op, ": a floating dtype is wanted, got ", x.dtype);
  TW_CHECK(x.rank() >= 2, kRuntime, c.op, ": at least two dims are wanted, got shape ", x.sizes);
  TW_CHECK(groups > 0 && x.size(1) % groups == 0, kRuntime, c.op, ": num_groups must divide the ", x.size(1),
           " channels, got ", groups);
  for (int i = 1; i < 3; i++)
    TW_CHECK(!c.has(i) || (c.in(i).rank() == 1 && c.in(i).size(0) == x.size(1)), kRuntime, c.op, ": ",
             i == 1 ? "weight" : "bias", " must have the shape [", x.size(1), "], got ", c.in(i).sizes);
  c.output(x.dtype, x.sizes);
  for (int i = 0; i < 2; i++) c.output(stat_dtype(x.dtype), {x.size(0), groups});
}

void infer_backward(InferContext& c) {
  int64_t wanted = c.attrs<GroupNormBackwardAttrs>().wanted, channels = c.in(1).size(1);
  DType dtype = c.in(1).dtype, affine = c.has(2) ? c.in(2).dtype : dtype;
  Dims statistics{c.in(1).size(0), c.attrs<GroupNormBackwardAttrs>().num_groups};
  want_sizes(c, 0, "grad", c.in(1).sizes);
  want_sizes(c, 2, "weight", {channels});
  want_sizes(c, 3, "mean", statistics);
  want_sizes(c, 4, "rstd", statistics);
  c.output(dtype, wanted & kNormInput ? c.in(1).sizes : Dims{0});
  c.output(affine, wanted & kNormWeight ? Dims{channels} : Dims{0});
  c.output(affine, wanted & kNormBias ? Dims{channels} : Dims{0});
}

void group_norm_grad(GradContext& c) {
  int64_t wanted =
      (c.needs(0) ? kNormInput : 0) | (c.needs(1) ? kNormWeight : 0) | (c.needs(2) ? kNormBias : 0);
  Values grads = ops<"group_norm_backward">(c.grad(), c.input(0), c.input(1), c.output(1), c.output(2),
                                            c.attrs<GroupNormAttrs>().num_groups, wanted);
  for (int i = 0; i < 3; i++)
    if (c.needs(i)) c.set(i, grads[i]);
}

// Seen as [samples, groups, channels of a group, length].
void backward_grad(GradContext& c) {
  const auto& a = c.attrs<GroupNormBackwardAttrs>();
  Value x = c.input(1);
  int64_t samples = x->size(0), channels = x->size(1), per_group = channels / a.num_groups;
  int64_t length = channels * samples > 0 ? x->count() / (channels * samples) : 0;
  IntList grouped{samples, a.num_groups, per_group, length};
  auto group = [&](const Value& value) { return value ? op<"reshape">(value, grouped) : value; };
  auto affine = [&](const Value& value) {
    return value ? op<"reshape">(value, IntList{1, a.num_groups, per_group, 1}) : value;
  };
  auto stat = [&](const Value& value) { return op<"reshape">(value, IntList{samples, a.num_groups, 1, 1}); };
  NormTerms t{group(c.input(0)),
              group(x),
              affine(c.input(2)),
              stat(c.input(3)),
              stat(c.input(4)),
              IntList{2, 3},
              IntList{0, 3},
              {},
              {},
              {}};
  if (a.wanted & kNormInput) t.v = group(c.grad(0));
  if (a.wanted & kNormWeight) t.v_weight = affine(c.grad(1));
  if (a.wanted & kNormBias) t.v_bias = affine(c.grad(2));
  NormSecondOrder out = norm_second_order(t, c.needs(0), c.needs(1), c.needs(2));
  if (c.needs(0) && out.grad) c.set(0, op<"reshape">(out.grad, x->sizes));
  if (c.needs(1) && out.input) c.set(1, op<"reshape">(out.input, x->sizes));
  if (c.needs(2) && out.weight) c.set(2, op<"reshape">(out.weight, IntList{channels}));
}

void sbp_samples(sbp::RuleContext& c) {
  bool backward = c.inputs.size() == 5;
  sbp::Signature signature = c.all_broadcast();
  for (size_t i = 0; i < c.inputs.size(); i++)
    if (c.present[i] && c.inputs[i].size() > 1) signature.inputs[i] = sbp::split(0);
  for (size_t i = 0; i < c.outputs.size(); i++)
    signature.outputs[i] = c.outputs[i].size() > 1 ? sbp::split(0)
                           : backward && i > 0     ? sbp::partial()
                                                   : sbp::broadcast();
  c.add(std::move(signature));
  add_affine_pending(c, backward);
}

}  // namespace

void define_group_norm(OpRegistry& r) {
  r.op("group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-5)"
       " -> (Tensor result, Tensor mean, Tensor rstd)",
       &GroupNormAttrs::num_groups, &GroupNormAttrs::eps)
      .doc(
          "Normalises each sample's groups of channels to mean 0 and variance 1, then applies weight and "
          "bias.")
      .visible(1)
      .infer(infer_group_norm)
      .grad("input weight mean rstd", group_norm_grad)
      .autocast(Autocast::kFloat32)
      .sbp(sbp_samples)
      .cost(pointwise_cost<8>)
      .expose(kFunction | kNnFunctional);
  r.op("group_norm_backward(Tensor grad, Tensor input, Tensor? weight, Tensor mean, Tensor rstd, int "
       "num_groups,"
       " int wanted) -> (Tensor grad_input, Tensor grad_weight, Tensor grad_bias)",
       &GroupNormBackwardAttrs::num_groups, &GroupNormBackwardAttrs::wanted)
      .doc("The gradients of group_norm; wanted: bits for input, weight, bias.")
      .infer(infer_backward)
      .grad("grad input weight mean rstd", backward_grad)
      .sbp(sbp_samples)
      .cost(pointwise_cost<12>);
}

}  // namespace tw::ops
