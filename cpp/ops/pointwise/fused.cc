// Three operands in one pass: lerp = start + weight (end - start), addcmul = input + value t1 t2, addcdiv =
// input + value t1 / t2.
#include "ops/pointwise/fused.h"

#include "ops/pointwise/rules.h"

namespace tw::ops {

using namespace ir;

namespace {

void infer_lerp(InferContext& c) {
  infer_broadcast(c);
  TW_CHECK(kind_of(c.in(0).dtype) >= DTypeKind::kFloat, kNotImplemented,
           "lerp: a floating or complex dtype is wanted, got ", c.in(0).dtype);
  TW_CHECK(c.in(0).dtype == c.in(1).dtype, kRuntime, "lerp: the dtypes must agree, got ", c.in(0).dtype,
           " and ", c.in(1).dtype);
  // A number keeps its own dtype, in a graph float32: rounded to a half type it would be another weight.
  const ValueImpl& weight = c.in(2);
  bool number = weight.wrapped_number ||
                (is_half(c.in(0).dtype) && weight.dtype == DType::kFloat32 && weight.sizes.empty());
  TW_CHECK(weight.dtype == c.in(0).dtype || (number && kind_of(weight.dtype) <= kind_of(c.in(0).dtype)),
           kRuntime, "lerp: a weight of dtype ", c.in(0).dtype, " is wanted, got ", weight.dtype);
}

void lerp_grad(GradContext& c) {
  Value weight = conj(c.input(2));
  if (c.needs(0)) c.set(0, c.grad() * (1.0 - weight));
  if (c.needs(1)) c.set(1, c.grad() * weight);
  if (c.needs(2)) c.set(2, c.grad() * conj(c.input(1) - c.input(0)));
}

Value conjugate(const Scalar& value) {
  return Emitter::current().number(value.kind() == DTypeKind::kComplex ? Scalar(std::conj(value.to_complex()))
                                                                       : value);
}

void addcmul_grad(GradContext& c) {
  Value scale = conjugate(c.attrs<ValueAttrs>().value);
  if (c.needs(0)) c.set(0, c.grad());
  if (c.needs(1)) c.set(1, c.grad() * conj(c.input(2)) * scale);
  if (c.needs(2)) c.set(2, c.grad() * conj(c.input(1)) * scale);
}

void addcdiv_grad(GradContext& c) {
  Value scale = conjugate(c.attrs<ValueAttrs>().value);
  if (c.needs(0)) c.set(0, c.grad());
  if (!c.needs(1) && !c.needs(2)) return;
  Value divisor = conj(c.input(2)), share = c.grad() * scale / divisor;
  if (c.needs(1)) c.set(1, share);
  if (c.needs(2)) c.set(2, -(share * conj(c.input(1)) / divisor));
}

void infer_value(InferContext& c) {
  infer_broadcast(c);
  const Scalar& value = c.attrs<ValueAttrs>().value;
  TW_CHECK(!is_bool(c.in(0).dtype), kNotImplemented, c.op, ": bool tensors are not supported");
  TW_CHECK(value.kind() <= kind_of(c.in(0).dtype), kType, c.op,
           ": value must not be of a higher kind than dtype ", c.in(0).dtype, ", got ", value);
}

void infer_addcdiv(InferContext& c) {
  TW_CHECK(kind_of(c.in(0).dtype) >= DTypeKind::kFloat, kRuntime,
           "addcdiv: integer division is not supported, got dtype ", c.in(0).dtype);
  infer_value(c);
}

// Linear in these two inputs together, the third being whole.
template <int kFirst, int kSecond>
void add_pending_pair(sbp::RuleContext& c) {
  sbp::Signature signature = c.all_broadcast();
  signature.inputs[kFirst] = signature.inputs[kSecond] = signature.outputs[0] = sbp::partial();
  c.add(std::move(signature));
}

void sbp_addcmul(sbp::RuleContext& c) {
  sbp::elementwise(c);
  add_pending_pair<0, 1>(c);
  add_pending_pair<0, 2>(c);
}

// addcdiv is linear in input and tensor1, lerp in its two ends.
void sbp_first_two(sbp::RuleContext& c) {
  sbp::elementwise(c);
  add_pending_pair<0, 1>(c);
}

}  // namespace

void define_fused(OpRegistry& r) {
  r.op("lerp(Tensor input, Tensor end, Tensor weight) -> Tensor")
      .doc("input + weight * (end - input).")
      .promote(Promotion::kLikeFirst, 0b001)
      .infer(infer_lerp)
      .grad("input(weight) end(weight) weight", lerp_grad)
      .autocast(Autocast::kWidest)
      .sbp(sbp_first_two)
      .order(ResultOrder::kLikeInputs)
      .cost(pointwise_cost<3>)
      .expose(kEverywhere);
  r.op("addcmul(Tensor input, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
       &ValueAttrs::value)
      .doc("input + value * tensor1 * tensor2.")
      .promote(Promotion::kCommon)
      .infer(infer_value)
      .grad("tensor1(tensor2) tensor2(tensor1)", addcmul_grad)
      .autocast(Autocast::kWidest)
      .sbp(sbp_addcmul)
      .order(ResultOrder::kLikeInputs)
      .cost(pointwise_cost<3>)
      .expose(kEverywhere);
  r.op("addcdiv(Tensor input, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
       &ValueAttrs::value)
      .doc("input + value * tensor1 / tensor2.")
      .promote(Promotion::kCommon)
      .infer(infer_addcdiv)
      .grad("tensor1(tensor2) tensor2", addcdiv_grad)
      .autocast(Autocast::kWidest)
      .sbp(sbp_first_two)
      .order(ResultOrder::kLikeInputs)
      .cost(pointwise_cost<6>)
      .expose(kEverywhere);
}

}  // namespace tw::ops
