// as_strided: a window on the input's storage given by sizes, strides and an offset, whatever the input's own
// are.
//
// Its gradient treats the input as the only owner of its elements: each gradient element is added to the
// input element at the same memory location; elements of an expanded input that share a location share its
// sum evenly.
#include "ops/view/as_strided.h"

#include "ir/emitter.h"
#include "ops/shape_checks.h"
#include "sbp/rules.h"

namespace tw::ops {

using namespace ir;

namespace {

void infer_as_strided(InferContext& c) {
  const auto& a = c.attrs<AsStridedAttrs>();
  TW_CHECK(a.size.size() == a.stride.size(), kValue, c.op, ": size and stride must have one length, got ",
           a.size, " and ", a.stride);
  for (int64_t stride : a.stride)
    TW_CHECK(stride >= 0, kValue, c.op, ": strides must not be negative, got ", a.stride);
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

int64_t last_location(const Dims& sizes, const Dims& strides, int64_t offset) {
  for (size_t i = 0; i < sizes.size(); i++) offset += (sizes[i] - 1) * strides[i];
  return offset;
}

// The memory that input and window reach is laid out as one vector: gradients are added there by the window's
// geometry and read back by the input's.
void as_strided_grad(GradContext& c) {
  const auto& a = c.attrs<AsStridedAttrs>();
  const Meta& input = c.input_meta(0);
  Dims strides = a.input_stride.empty() ? contiguous_strides(input.sizes) : a.input_stride;
  int64_t offset = a.storage_offset.value_or(a.input_offset);
  if (numel(a.size) == 0 || numel(input.sizes) == 0) return c.set(0, op<"full">(input.sizes, 0, input.dtype));
  int64_t first = std::min(offset, a.input_offset);
  int64_t end = 1 + std::max(last_location(a.size, a.stride, offset),
                             last_location(input.sizes, strides, a.input_offset));
  IntList memory{end - first};
  Value sums = op<"as_strided_scatter">(c.grad(), memory, a.size, a.stride, offset - first);
  if (may_overlap(input.sizes, strides)) {
    Value ones = op<"full">(input.sizes, 1, input.dtype);
    Value owners = op<"as_strided_scatter">(ones, memory, input.sizes, strides, a.input_offset - first);
    sums = sums / op<"maximum">(owners, op<"full">(IntList(), 1, input.dtype));
  }
  c.set(0, op<"as_strided">(sums, input.sizes, strides, a.input_offset - first));
}

void infer_scatter(InferContext& c) {
  const auto& a = c.attrs<AsStridedScatterAttrs>();
  want_sizes(c, 0, "grad", a.size);
  c.output(c.in(0).dtype, a.input_size);
}

void scatter_grad(GradContext& c) {
  const auto& a = c.attrs<AsStridedScatterAttrs>();
  c.set(0, op<"as_strided">(op<"row_major">(c.grad()), a.size, a.stride, a.offset));
}

// It sees memory, which a device holds a part of unless it holds a term of all.
void sbp_as_strided(sbp::RuleContext& c) { sbp::add_moved(c); }
void sbp_scatter(sbp::RuleContext& c) { sbp::add_pending(c, {0}); }  // where windows overlap, it adds

}  // namespace

void define_as_strided(OpRegistry& r) {
  r.op("as_strided(Tensor input, int[] size, int[] stride, int? storage_offset=None, *, int[] "
       "input_stride=[], "
       "int input_offset=0) -> Tensor",
       &AsStridedAttrs::size, &AsStridedAttrs::stride, &AsStridedAttrs::storage_offset,
       &AsStridedAttrs::input_stride, &AsStridedAttrs::input_offset)
      .doc("A view of the storage with the given sizes, strides and offset, in elements.")
      .infer(infer_as_strided)
      .view(view_as_strided)
      .grad("", as_strided_grad)
      .sbp(sbp_as_strided)
      .cost(free_cost);
  r.op("as_strided_scatter(Tensor grad, int[] input_size, int[] size, int[] stride, int offset) -> Tensor",
       &AsStridedScatterAttrs::input_size, &AsStridedScatterAttrs::size, &AsStridedScatterAttrs::stride,
       &AsStridedScatterAttrs::offset)
      .doc(
          "Zeros of input_size into which grad is added through the given window: the gradient of "
          "as_strided.")
      .infer(infer_scatter)
      .grad("", scatter_grad)
      .sbp(sbp_scatter)
      .cost(copy_cost);
}

}  // namespace tw::ops
