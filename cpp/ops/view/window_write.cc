// window_write: a tensor with a strided window of it replaced, result[offset + i · stride] = src[i] in
// row-major order.
//
// What a write through a view is to values that are never written: traced programs use it. Elements of the
// window must not share a location.
#include "ops/view/window_write.h"

#include "ir/emitter.h"
#include "sbp/rules.h"

namespace tw::ops {

using namespace ir;

namespace {

void infer_window_write(InferContext& c) {
  const auto& a = c.attrs<WindowWriteAttrs>();
  const Dims& sizes = c.in(1).sizes;
  TW_CHECK(c.in(0).dtype == c.in(1).dtype, kType, c.op, ": one dtype is wanted, got ", c.in(0).dtype, " and ",
           c.in(1).dtype);
  TW_CHECK(a.stride.size() == sizes.size(), kValue, c.op, ": a stride for each dim of src is wanted, got ",
           a.stride, " for shape ", sizes);
  int64_t last = a.offset, reach = 0;
  bool inside = a.offset >= 0;
  for (size_t i = 0; i < sizes.size() && inside; i++)
    inside = a.stride[i] >= 0 && !__builtin_mul_overflow(sizes[i] - 1, a.stride[i], &reach) &&
             !__builtin_add_overflow(last, reach, &last);
  TW_CHECK(numel(sizes) == 0 || (inside && last < c.in(0).count()), kValue, c.op, ": a window of shape ",
           sizes, " with strides ", a.stride, " and offset ", a.offset, " leaves the input of shape ",
           c.in(0).sizes);
  TW_CHECK(!may_overlap(sizes, a.stride), kValue, c.op,
           ": several elements of the window share one location (shape ", sizes, ", strides ", a.stride, ")");
  infer_same(c);
}

void window_write_grad(GradContext& c) {
  const auto& a = c.attrs<WindowWriteAttrs>();
  const Meta& src = c.input_meta(1);
  if (c.needs(0))
    c.set(0,
          op<"window_write">(op<"clone">(c.grad()), op<"full">(src.sizes, 0, src.dtype), a.stride, a.offset));
  if (c.needs(1)) c.set(1, op<"as_strided">(op<"clone">(c.grad()), src.sizes, a.stride, a.offset));
}

// The window is stated in the order of the whole, so nothing is split.
void sbp_window_write(sbp::RuleContext& c) {
  for (auto reduce : {sbp::ReduceOp::kSum, sbp::ReduceOp::kMax, sbp::ReduceOp::kMin})
    sbp::add_pending(c, {0, 1}, reduce);
}

}  // namespace

void define_window_write(OpRegistry& r) {
  r.op("window_write(Tensor input, Tensor src, int[] stride, int offset) -> Tensor",
       &WindowWriteAttrs::stride, &WindowWriteAttrs::offset)
      .doc(
          "The input with a window of it, strides and offset counted in its row-major order, replaced by "
          "src.")
      .infer(infer_window_write)
      .grad("", window_write_grad)
      .sbp(sbp_window_write)
      .cost(copy_cost);
}

}  // namespace tw::ops
