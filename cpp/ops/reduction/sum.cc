// sum over some dims or all; integers and bools sum in int64 unless a dtype is given. sum_to_size undoes
// broadcasting.
#include "ops/reduction/reduced_shape.h"

namespace tw::ops {

using namespace ir;

namespace {

DType sum_dtype(DType input, std::optional<DType> given) {
  return given.value_or(kind_of(input) <= DTypeKind::kInt ? DType::kInt64 : input);
}

void infer_sum(InferContext& c) {
  const auto& a = c.attrs<ReduceDTypeAttrs>();
  c.output(sum_dtype(c.in(0).dtype, a.dtype), reduced_sizes(c.in(0).sizes, a.dim, a.keepdim, c.op));
}

void sum_grad(GradContext& c) {
  const auto& a = c.attrs<ReduceDTypeAttrs>();
  c.set(0, unreduce(c.grad(), c.input_meta(0).sizes, a.dim, a.keepdim, "sum"));
}

void sbp_sum(sbp::RuleContext& c) {
  add_reduction_splits<ReduceDTypeAttrs>(c, "sum", sbp::ReduceOp::kSum);
  c.add({{sbp::partial()}, {sbp::partial()}});
}

Values expand_sum_to_size(const Values& inputs, const void* attrs) {
  const Value& x = inputs[0];
  const IntList& size = static_cast<const SizeAttrs*>(attrs)->size;
  TW_CHECK(broadcast_sizes(size, x->sizes, "sum_to_size") == x->sizes, kRuntime, "sum_to_size: shape ", size,
           " does not broadcast to ", x->sizes);
  if (size.empty()) return {op<"sum">(x)};  // integers sum in int64, in a number too
  int64_t shift = x->rank() - static_cast<int64_t>(size.size());
  IntList dims;
  for (int64_t dim = 0; dim < x->rank(); dim++)
    if (dim < shift || (size[dim - shift] == 1 && x->size(dim) != 1)) dims.push_back(dim);
  if (dims.empty()) return {x};
  Value sum = op<"sum">(x, dims, true);
  return {shift == 0 ? sum : op<"reshape">(sum, size)};
}

}  // namespace

void define_sum(OpRegistry& r) {
  r.op("sum(Tensor input, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None) -> Tensor",
       &ReduceDTypeAttrs::dim, &ReduceDTypeAttrs::keepdim, &ReduceDTypeAttrs::dtype)
      .doc("The sum of the elements over the given dims.")
      .input_dtype(&ReduceDTypeAttrs::dtype)
      .infer(infer_sum)
      .grad("", sum_grad)
      .autocast(Autocast::kFloat32)
      .sbp(sbp_sum)
      .cost(reduction_cost<1>)
      .expose(kFunction | kMethod);
  r.op("sum_to_size(Tensor input, int[]... size) -> Tensor", &SizeAttrs::size)
      .doc("The sum over the dims that broadcasting from the given size would have added or grown.")
      .expand(expand_sum_to_size)
      .expose(kMethod);
}

}  // namespace tw::ops
