// reshape and view: the same elements in row-major order under another shape. reshape copies where the memory
// cannot be seen that way; view refuses.
#include "ops/view/reshape.h"

#include <numeric>

#include "ir/emitter.h"
#include "sbp/rules.h"

namespace tw::ops {

using namespace ir;

namespace {

void infer_reshape(InferContext& c) {
  c.output(c.in(0).dtype, infer_size(c.attrs<ShapeAttrs>().shape, c.in(0).count(), c.op));
}

bool view_reshape(const Geometry& input, const void*, Geometry* output) {
  output->offset = input.offset;
  return view_strides(input.sizes, input.strides, output->sizes, &output->strides);
}

bool view_view(const Geometry& input, const void* attrs, Geometry* output) {
  TW_CHECK(view_reshape(input, attrs, output), kRuntime, "view: shape ", input.sizes, " with strides ",
           input.strides, " cannot be seen as ", output->sizes, " without a copy; use reshape");
  return true;
}

void reshape_grad(GradContext& c) { c.set(0, op<"reshape">(c.grad(), c.input_meta(0).sizes)); }

// Dims of input and output that cover the same elements pair up; the first dim of each run carries a split,
// cut at multiples that both sides have.
void sbp_reshape(sbp::RuleContext& c) {
  sbp::add_moved(c);
  const Dims &from = c.inputs[0], &to = c.outputs[0];
  size_t i = 0, j = 0;
  while (i < from.size() && j < to.size()) {
    if (from[i] == 1 && to[j] != 1) {
      i++;
      continue;
    }
    if (to[j] == 1 && from[i] != 1) {
      j++;
      continue;
    }
    size_t first_i = i, first_j = j;
    int64_t left = from[i++], right = to[j++];
    while (left != right) {
      if (left < right) {
        if (i == from.size()) return;
        left *= from[i++];
      } else {
        if (j == to.size()) return;
        right *= to[j++];
      }
    }
    int64_t a = from[first_i], b = to[first_j], units = a == b ? std::max<int64_t>(a, 1) : std::gcd(a, b);
    if (units > 1 || a == b)
      c.add({{sbp::split(static_cast<int64_t>(first_i), std::max<int64_t>(a / units, 1))},
             {sbp::split(static_cast<int64_t>(first_j), std::max<int64_t>(b / units, 1))}});
  }
}

}  // namespace

void define_reshape(OpRegistry& r) {
  r.op("reshape(Tensor input, int[]... shape) -> Tensor", &ShapeAttrs::shape)
      .doc(
          "The elements in row-major order under another shape; one size may be -1. A view where memory "
          "allows.")
      .infer(infer_reshape)
      .view(view_reshape)
      .grad("", reshape_grad)
      .sbp(sbp_reshape)
      .localize(holds_output_sizes<&ShapeAttrs::shape>)
      .cost(free_cost)
      .expose(kFunction | kMethod);
  r.op("view(Tensor input, int[]... shape) -> Tensor", &ShapeAttrs::shape)
      .doc("The same memory under another shape.")
      .infer(infer_reshape)
      .view(view_view)
      .grad("", reshape_grad)
      .sbp(sbp_reshape)
      .localize(holds_output_sizes<&ShapeAttrs::shape>)
      .cost(free_cost);
}

}  // namespace tw::ops
