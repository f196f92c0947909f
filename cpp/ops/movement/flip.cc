// flip: dims in reverse order. pad_constant: a border of one value around a tensor; negative pads crop. tril,
// triu: the elements below and above a diagonal, zeros elsewhere.
#include "ir/emitter.h"
#include "ops/movement/cat.h"
#include "sbp/rules.h"

namespace tw::ops {

using namespace ir;

namespace {

void infer_flip(InferContext& c) {
  wrap_dims(c.attrs<FlipAttrs>().dims, c.in(0).rank(), c.op);
  infer_same(c);
}

void flip_grad(GradContext& c) { c.set(0, op<"flip">(c.grad(), c.attrs<FlipAttrs>().dims)); }

// What a dim that is not moved splits, and all that is pending.
void add_unmoved(sbp::RuleContext& c, const std::vector<bool>& moved) {
  for (size_t d = 0; d < moved.size(); d++) {
    int64_t dim = static_cast<int64_t>(d);
    if (!moved[d]) c.add({{sbp::split(dim)}, {sbp::split(dim)}});
  }
  sbp::add_moved(c);
}

void sbp_flip(sbp::RuleContext& c) {
  std::vector<bool> moved(c.inputs[0].size());
  for (int64_t d : wrap_dims(c.attrs<FlipAttrs>().dims, static_cast<int64_t>(moved.size()), "flip"))
    if (!moved.empty()) moved[d] = true;
  add_unmoved(c, moved);
}

void infer_pad(InferContext& c) {
  const IntList& pad = c.attrs<PadAttrs>().pad;
  Dims sizes = c.in(0).sizes;
  TW_CHECK(pad.size() % 2 == 0 && pad.size() <= 2 * sizes.size(), kRuntime,
           "pad: an even number of pads, at most ", 2 * sizes.size(), ", is wanted, got ", pad);
  for (size_t i = 0; i < pad.size() / 2; i++) {
    int64_t& size = sizes[sizes.size() - 1 - i];
    int64_t more = 0;
    TW_CHECK(!__builtin_add_overflow(pad[2 * i], pad[2 * i + 1], &more) &&
                 !__builtin_add_overflow(size, more, &size),
             kRuntime, "pad: pads ", pad, " make shape ", c.in(0).sizes, " too large");
    TW_CHECK(size >= 0, kRuntime, "pad: pads ", pad, " leave a negative size of shape ", c.in(0).sizes);
  }
  c.output(c.in(0).dtype, sizes);
}

void pad_grad(GradContext& c) {
  IntList back = c.attrs<PadAttrs>().pad;
  for (int64_t& p : back) p = -p;
  c.set(0, op<"pad_constant">(c.grad(), back, 0));
}

void sbp_pad(sbp::RuleContext& c) {
  const auto& a = c.attrs<PadAttrs>();
  std::vector<bool> moved(c.inputs[0].size());
  for (size_t i = 0; i < a.pad.size(); i++)
    if (a.pad[i]) moved[moved.size() - 1 - i / 2] = true;
  if (a.value == Scalar(0)) return add_unmoved(c, moved);
  sbp::add_rising(c);  // every device puts the same value beside its part
  for (size_t d = 0; d < moved.size(); d++)
    if (!moved[d]) c.add({{sbp::split(static_cast<int64_t>(d))}, {sbp::split(static_cast<int64_t>(d))}});
}

void infer_triangle(InferContext& c) {
  TW_CHECK(c.in(0).rank() >= 2, kRuntime, c.op, ": at least 2 dims are wanted, got shape ", c.in(0).sizes);
  infer_same(c);
}

void tril_grad(GradContext& c) { c.set(0, op<"tril">(c.grad(), c.attrs<TriangleAttrs>().diagonal)); }
void triu_grad(GradContext& c) { c.set(0, op<"triu">(c.grad(), c.attrs<TriangleAttrs>().diagonal)); }

void sbp_triangle(sbp::RuleContext& c) { add_unmoved(c, std::vector<bool>(c.inputs[0].size())); }

// The diagonal as counted from the part's first row and column.
void localize_triangle(ShardContext& c) {
  const Dims& first = c.first_outputs[0];
  size_t rank = first.size();
  c.attrs<TriangleAttrs>().diagonal += first[rank - 2] - first[rank - 1];
}

}  // namespace

void define_flip(OpRegistry& r) {
  r.op("flip(Tensor input, int[]... dims) -> Tensor", &FlipAttrs::dims)
      .doc("The elements in reverse order along the given dims.")
      .infer(infer_flip)
      .grad("", flip_grad)
      .sbp(sbp_flip)
      .order(ResultOrder::kLikeInputs)
      .cost(copy_cost)
      .expose(kFunction | kMethod);
  r.op("pad_constant(Tensor input, int[] pad, Scalar value=0) -> Tensor", &PadAttrs::pad, &PadAttrs::value)
      .doc(
          "input with pad[0] elements of value before and pad[1] after its last dim, and so on to the front.")
      .infer(infer_pad)
      .grad("", pad_grad)
      .sbp(sbp_pad)
      .order(ResultOrder::kChannelsLast)
      .cost(copy_cost);
  r.op("tril(Tensor input, int diagonal=0) -> Tensor", &TriangleAttrs::diagonal)
      .doc("The elements on and below a diagonal of the last two dims, zeros elsewhere.")
      .infer(infer_triangle)
      .grad("", tril_grad)
      .sbp(sbp_triangle)
      .localize(localize_triangle)
      .cost(copy_cost)
      .expose(kFunction | kMethod | kInplace);
  r.op("triu(Tensor input, int diagonal=0) -> Tensor", &TriangleAttrs::diagonal)
      .doc("The elements on and above a diagonal of the last two dims, zeros elsewhere.")
      .infer(infer_triangle)
      .grad("", triu_grad)
      .sbp(sbp_triangle)
      .localize(localize_triangle)
      .cost(copy_cost)
      .expose(kFunction | kMethod | kInplace);
}

}  // namespace tw::ops
