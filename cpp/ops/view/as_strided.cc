// as_strided: a window on the input's storage given by sizes, strides and an offset, whatever the input's own are.
//
// Its gradient treats the input as the only owner of its elements: each gradient element is added to the input element
// at the same memory location; an input element seen through an expanded input shares its sum out evenly.
#include "ops/view/as_strided.h"

#include "ir/emitter.h"

namespace tw::ops {

using namespace ir;

namespace {

void infer_as_strided(InferContext& c) {
  const auto& a = c.attrs<AsStridedAttrs>();
  TW_CHECK(a.size.size() == a.stride.size(), kValue, c.op, ": size and stride must have one length, got ", a.size,
           " and ", a.stride);
  for (int64_t stride : a.stride) TW_CHECK(stride >= 0, kValue, c.op, ": strides must not be negative, got ", a.stride);
  TW_CHECK(a.storage_offset.value_or(0) >= 0, kValue, c.op, ": storage_offset must not be negative");
  numel(a.size);
  c.output(c.in(0).dtype, a.size);
}

bool view_as_strided(const Geometry& input, const void* attrs, Geometry* output) {
  const auto& a = *static_cast<const AsStridedAttrs*>(attrs);
  output->strides = a.stride;
  output->offset = a.storage_offset.value_or(input.offset);
  return true;
}

void as_strided_grad(GradContext& c) {
  const auto& a = c.attrs<AsStridedAttrs>();
  c.set(0, op<"as_strided_scatter">(c.grad(), c.input_meta(0).sizes, a.size, a.stride, a.storage_offset.value_or(0)));
}

void infer_scatter(InferContext& c) {
  const auto& a = c.attrs<AsStridedScatterAttrs>();
  c.output(c.in(0).dtype, a.input_size);
}

void scatter_grad(GradContext& c) {
  const auto& a = c.attrs<AsStridedScatterAttrs>();
  c.set(0, op<"as_strided">(op<"clone">(c.grad()), a.size, a.stride, a.offset));
}

}  // namespace

void define_as_strided(OpRegistry& r) {
  r.op("as_strided(Tensor input, int[] size, int[] stride, int? storage_offset=None) -> Tensor",
       &AsStridedAttrs::size, &AsStridedAttrs::stride, &AsStridedAttrs::storage_offset)
      .doc("A view of the storage with the given sizes, strides and offset, in elements.")
      .infer(infer_as_strided)
      .view(view_as_strided)
      .grad("", as_strided_grad)
      .sbp(sbp::broadcast_only)
      .cost(free_cost)
      .expose(kFunction | kMethod);
  r.op("as_strided_scatter(Tensor grad, int[] input_size, int[] size, int[] stride, int offset) -> Tensor",
       &AsStridedScatterAttrs::input_size, &AsStridedScatterAttrs::size, &AsStridedScatterAttrs::stride,
       &AsStridedScatterAttrs::offset)
      .doc("Zeros of input_size into which grad is added through the given window: the gradient of as_strided.")
      .infer(infer_scatter)
      .grad("", scatter_grad)
      .sbp(sbp::broadcast_only)
      .cost(copy_cost);
}

}  // namespace tw::ops
