// layer_norm: (x - mean) rstd w + b over the last dims, rstd = 1/√(var + eps), var without correction. Ba,
// Kiros and Hinton, arXiv:1607.06450. rms_norm: x rstd w with rstd = 1/√(m(x²) + eps). Zhang and Sennrich,
// arXiv:1910.07467.
#include <limits>

#include "ops/norm_second_order.h"
#include "ops/normalisation/normalisation.h"
#include "ops/shape_checks.h"

namespace tw::ops {

using namespace ir;

namespace {

// Statistics keep the normalised dims with size 1; those of the half types are float32.
Dims stat_sizes(const ValueImpl& x, const IntList& shape, const char* op) {
  TW_CHECK(is_float(x.dtype), kNotImplemented, op, ": a floating dtype is wanted, got ", x.dtype);
  int64_t lead = x.rank() - static_cast<int64_t>(shape.size());
  TW_CHECK(!shape.empty(), kRuntime, op, ": normalized_shape must hold at least one dim");
  TW_CHECK(lead >= 0 && Dims(x.sizes.begin() + lead, x.sizes.end()) == shape, kRuntime, op,
           ": normalized_shape is ", shape, ", but input has shape ", x.sizes);
  Dims sizes = x.sizes;
  for (int64_t d = lead; d < x.rank(); d++) sizes[d] = 1;
  return sizes;
}

void check_affine(InferContext& c, int i, const char* name, const IntList& shape) {
  if (!c.has(i)) return;
  TW_CHECK(c.in(i).sizes == shape, kRuntime, c.op, ": ", name, " must have the shape ", shape, ", got ",
           c.in(i).sizes);
  TW_CHECK(is_float(c.in(i).dtype), kRuntime, c.op, ": ", name, " must have a floating dtype, got ",
           c.in(i).dtype);
}

DType stat_dtype(DType dtype) { return is_half(dtype) ? DType::kFloat32 : dtype; }

void infer_layer_norm(InferContext& c) {
  const IntList& shape = c.attrs<LayerNormAttrs>().normalized_shape;
  Dims stats = stat_sizes(c.in(0), shape, c.op);
  check_affine(c, 1, "weight", shape);
  check_affine(c, 2, "bias", shape);
  c.output(c.in(0).dtype, c.in(0).sizes);
  c.output(stat_dtype(c.in(0).dtype), stats);
  c.output(stat_dtype(c.in(0).dtype), stats);
}

void infer_rms_norm(InferContext& c) {
  const IntList& shape = c.attrs<RmsNormAttrs>().normalized_shape;
  Dims stats = stat_sizes(c.in(0), shape, c.op);
  check_affine(c, 1, "weight", shape);
  c.output(c.in(0).dtype, c.in(0).sizes);
  c.output(stat_dtype(c.in(0).dtype), stats);
}

void infer_backward(InferContext& c) {
  const auto& a = c.attrs<LayerNormBackwardAttrs>();
  DType dtype = c.in(1).dtype, affine = c.has(2) ? c.in(2).dtype : dtype;
  Dims statistics = stat_sizes(c.in(1), a.normalized_shape, c.op);
  want_sizes(c, 0, "grad", c.in(1).sizes);
  want_sizes(c, 2, "weight", a.normalized_shape);
  want_sizes(c, 3, "mean", statistics);
  want_sizes(c, 4, "rstd", statistics);
  c.output(dtype, a.wanted & kNormInput ? c.in(1).sizes : Dims{0});
  c.output(affine, a.wanted & kNormWeight ? a.normalized_shape : Dims{0});
  c.output(affine, a.wanted & kNormBias ? a.normalized_shape : Dims{0});
}

int64_t wanted(GradContext& c, int weight, int bias) {
  return (c.needs(0) ? kNormInput : 0) | (c.needs(weight) ? kNormWeight : 0) |
         (bias > 0 && c.needs(bias) ? kNormBias : 0);
}

void layer_norm_grad(GradContext& c) {
  const auto& a = c.attrs<LayerNormAttrs>();
  Values grads = ops<"layer_norm_backward">(c.grad(), c.input(0), c.input(1), c.output(1), c.output(2),
                                            a.normalized_shape, wanted(c, 1, 2));
  for (int i = 0; i < 3; i++)
    if (c.needs(i)) c.set(i, grads[i]);
}

void rms_norm_grad(GradContext& c) {
  const auto& a = c.attrs<RmsNormAttrs>();
  Values grads = ops<"layer_norm_backward">(c.grad(), c.input(0), c.input(1), nullptr, c.output(1),
                                            a.normalized_shape, wanted(c, 1, -1));
  for (int i = 0; i < 2; i++)
    if (c.needs(i)) c.set(i, grads[i]);
}

void backward_grad(GradContext& c) {
  const auto& a = c.attrs<LayerNormBackwardAttrs>();
  NormTerms t{c.input(0), c.input(1), c.input(2), c.input(3), c.input(4), {}, {}, {}, {}, {}};
  int64_t rank = t.input->rank(), lead = rank - static_cast<int64_t>(a.normalized_shape.size());
  for (int64_t d = 0; d < rank; d++) (d < lead ? t.affine_dims : t.stat_dims).push_back(d);
  if (a.wanted & kNormInput) t.v = c.grad(0);
  if (a.wanted & kNormWeight) t.v_weight = c.grad(1);
  if (a.wanted & kNormBias) t.v_bias = c.grad(2);
  NormSecondOrder out = norm_second_order(t, c.needs(0), c.needs(1), c.needs(2));
  if (c.needs(0)) c.set(0, out.grad);
  if (c.needs(1)) c.set(1, out.input);
  if (c.needs(2) && out.weight) c.set(2, op<"reshape">(out.weight, a.normalized_shape));
}

// Splits of the leading dims; linear in weight and bias, and in the gradient.
template <class A>
void sbp_leading(sbp::RuleContext& c) {
  bool backward = c.outputs.size() == 3 && c.inputs.size() == 5;
  const Dims& x = c.inputs[backward ? 1 : 0];
  int64_t lead = static_cast<int64_t>(x.size()) - static_cast<int64_t>(c.attrs<A>().normalized_shape.size());
  for (int64_t dim = 0; dim < lead; dim++) {
    sbp::Signature signature = c.all_broadcast();
    for (size_t i = 0; i < c.inputs.size(); i++) {
      bool affine = backward ? i == 2 : i > 0;
      if (c.present[i] && !affine) signature.inputs[i] = sbp::split(dim);
    }
    for (size_t i = 0; i < c.outputs.size(); i++)
      signature.outputs[i] = backward && i > 0 ? sbp::partial() : sbp::split(dim);
    if (backward && c.outputs[0].size() != x.size()) signature.outputs[0] = sbp::broadcast();
    c.add(std::move(signature));
  }
  add_affine_pending(c, backward);
}

}  // namespace

void define_layer_norm(OpRegistry& r) {
  r.op("layer_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float "
       "eps=1e-5)"
       " -> (Tensor result, Tensor mean, Tensor rstd)",
       &LayerNormAttrs::normalized_shape, &LayerNormAttrs::eps)
      .doc(
          "Shifts and scales each block of the last dims to mean 0 and variance 1, then applies weight and "
          "bias.")
      .visible(1)
      .infer(infer_layer_norm)
      .grad("input weight mean rstd", layer_norm_grad)
      .autocast(Autocast::kFloat32)
      .sbp(sbp_leading<LayerNormAttrs>)
      .cost(pointwise_cost<8>)
      .expose(kFunction | kNnFunctional);
  r.op("rms_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, float? eps=None)"
       " -> (Tensor result, Tensor rstd)",
       &RmsNormAttrs::normalized_shape, &RmsNormAttrs::eps)
      .doc("Scales each block of the last dims to a mean square of 1, then applies weight.")
      .visible(1)
      .infer(infer_rms_norm)
      .grad("input weight rstd", rms_norm_grad)
      .autocast(Autocast::kFloat32)
      .sbp(sbp_leading<RmsNormAttrs>)
      .cost(pointwise_cost<6>);
  r.op("layer_norm_backward(Tensor grad, Tensor input, Tensor? weight, Tensor? mean, Tensor rstd,"
       " int[] normalized_shape, int wanted) -> (Tensor grad_input, Tensor grad_weight, Tensor grad_bias)",
       &LayerNormBackwardAttrs::normalized_shape, &LayerNormBackwardAttrs::wanted)
      .doc(
          "The gradients of layer_norm, or of rms_norm where mean is absent; wanted: bits for input, weight, "
          "bias.")
      .infer(infer_backward)
      .grad("grad input weight mean rstd", backward_grad)
      .sbp(sbp_leading<LayerNormBackwardAttrs>)
      .cost(pointwise_cost<12>);
}

}  // namespace tw::ops
