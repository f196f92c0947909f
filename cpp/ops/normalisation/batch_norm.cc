// batch_norm_train: (x - mean) rstd w + b with the statistics of each channel (dim 1) over all other dims.
// Ioffe and Szegedy, arXiv:1502.03167. batch_norm itself, with running statistics and evaluation, is a
// composite.
#include "ops/norm_second_order.h"
#include "ops/normalisation/normalisation.h"
#include "ops/shape_checks.h"

namespace tw::ops {

using namespace ir;

namespace {

DType stat_dtype(DType dtype) { return is_half(dtype) ? DType::kFloat32 : dtype; }

void infer_train(InferContext& c) {
  const ValueImpl& x = c.in(0);
  TW_CHECK(is_float(x.dtype), kNotImplemented, "batch_norm: a floating dtype is wanted, got ", x.dtype);
  TW_CHECK(x.rank() >= 2, kRuntime, "batch_norm: at least two dims are wanted, got shape ", x.sizes);
  int64_t channels = x.size(1);
  for (int i = 1; i < 3; i++)
    TW_CHECK(!c.has(i) || (c.in(i).rank() == 1 && c.in(i).size(0) == channels), kRuntime,
             "batch_norm: ", i == 1 ? "weight" : "bias", " must have the shape [", channels, "], got ",
             c.in(i).sizes);
  c.output(x.dtype, x.sizes);
  for (int i = 0; i < 3; i++) c.output(stat_dtype(x.dtype), {channels});
}

void infer_backward(InferContext& c) {
  int64_t wanted = c.attrs<BatchNormBackwardAttrs>().wanted, channels = c.in(1).size(1);
  DType dtype = c.in(1).dtype, affine = c.has(2) ? c.in(2).dtype : dtype;
  want_sizes(c, 0, "grad", c.in(1).sizes);
  want_sizes(c, 2, "weight", {channels});
  want_sizes(c, 3, "mean", {channels});
  want_sizes(c, 4, "rstd", {channels});
  c.output(dtype, wanted & kNormInput ? c.in(1).sizes : Dims{0});
  c.output(affine, wanted & kNormWeight ? Dims{channels} : Dims{0});
  c.output(affine, wanted & kNormBias ? Dims{channels} : Dims{0});
}

void train_grad(GradContext& c) {
  int64_t wanted =
      (c.needs(0) ? kNormInput : 0) | (c.needs(1) ? kNormWeight : 0) | (c.needs(2) ? kNormBias : 0);
  if (!c.grad(0)) return;
  Values grads =
      ops<"batch_norm_backward">(c.grad(0), c.input(0), c.input(1), c.output(1), c.output(2), wanted);
  for (int i = 0; i < 3; i++)
    if (c.needs(i)) c.set(i, grads[i]);
}

Value per_channel(const Value& value, int64_t rank) {
  if (!value) return value;
  IntList sizes(rank, 1);
  sizes[1] = value->size(0);
  return op<"reshape">(value, sizes);
}

void backward_grad(GradContext& c) {
  int64_t wanted = c.attrs<BatchNormBackwardAttrs>().wanted, rank = c.input(1)->rank();
  NormTerms t{c.input(0),
              c.input(1),
              per_channel(c.input(2), rank),
              per_channel(c.input(3), rank),
              per_channel(c.input(4), rank),
              {},
              {},
              {},
              {},
              {}};
  for (int64_t d = 0; d < rank; d++)
    if (d != 1) t.stat_dims.push_back(d);
  t.affine_dims = t.stat_dims;
  if (wanted & kNormInput) t.v = c.grad(0);
  if (wanted & kNormWeight) t.v_weight = per_channel(c.grad(1), rank);
  if (wanted & kNormBias) t.v_bias = per_channel(c.grad(2), rank);
  NormSecondOrder out = norm_second_order(t, c.needs(0), c.needs(1), c.needs(2));
  if (c.needs(0)) c.set(0, out.grad);
  if (c.needs(1)) c.set(1, out.input);
  if (c.needs(2) && out.weight) c.set(2, op<"reshape">(out.weight, IntList{out.weight->count()}));
}

// Channels are independent.
void sbp_channels(sbp::RuleContext& c) {
  add_affine_pending(c, c.outputs.size() == 3);
  sbp::Signature signature = c.all_broadcast();
  for (size_t i = 0; i < c.inputs.size(); i++)
    if (c.present[i]) signature.inputs[i] = sbp::split(c.inputs[i].size() > 1 ? 1 : 0);
  for (size_t i = 0; i < c.outputs.size(); i++) {
    if (numel(c.outputs[i]) == 0) return;
    signature.outputs[i] = sbp::split(c.outputs[i].size() > 1 ? 1 : 0);
  }
  c.add(std::move(signature));
}

}  // namespace

void define_batch_norm(OpRegistry& r) {
  r.op("batch_norm_train(Tensor input, Tensor? weight=None, Tensor? bias=None, float eps=1e-5)"
       " -> (Tensor result, Tensor mean, Tensor rstd, Tensor unbiased_var)",
       &BatchNormAttrs::eps)
      .doc("batch_norm by the batch's own statistics, and these.")
      .infer(infer_train)
      .grad("input weight mean rstd", train_grad)
      .sbp(sbp_channels)
      .order(ResultOrder::kChannelsLast)
      .cost(pointwise_cost<8>);
  r.op("batch_norm_backward(Tensor grad, Tensor input, Tensor? weight, Tensor mean, Tensor rstd, int wanted)"
       " -> (Tensor grad_input, Tensor grad_weight, Tensor grad_bias)",
       &BatchNormBackwardAttrs::wanted)
      .doc("The gradients of batch_norm_train; wanted: bits for input, weight, bias.")
      .infer(infer_backward)
      .grad("grad input weight mean rstd", backward_grad)
      .sbp(sbp_channels)
      .order(ResultOrder::kChannelsLast, 0b10)
      .cost(pointwise_cost<12>);
}

}  // namespace tw::ops
