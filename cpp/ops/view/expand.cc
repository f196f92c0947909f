// expand: dims of size 1 repeated without copying (stride 0); unsqueeze: a dim of size 1 put in. Views.
#include "ir/emitter.h"
#include "ops/view/reshape.h"
#include "sbp/rules.h"

namespace tw::ops {

using namespace ir;

namespace {

void infer_expand(InferContext& c) {
  const Dims& from = c.in(0).sizes;
  Dims to = c.attrs<ShapeAttrs>().shape;
  TW_CHECK(to.size() >= from.size(), kRuntime, c.op, ": at least ", from.size(), " sizes are wanted, got ",
           to);
  size_t shift = to.size() - from.size();
  for (size_t i = 0; i < to.size(); i++) {
    int64_t size = i < shift ? 1 : from[i - shift];
    if (to[i] == -1 && i >= shift) to[i] = size;
    TW_CHECK(to[i] >= 0 && (size == 1 || size == to[i]), kRuntime, c.op, ": shape ", from,
             " does not expand to ", c.attrs<ShapeAttrs>().shape);
  }
  c.output(c.in(0).dtype, to);
}

bool view_expand(const Geometry& input, const void*, Geometry* output) {
  size_t shift = output->sizes.size() - input.sizes.size();
  output->offset = input.offset;
  for (size_t i = 0; i < output->sizes.size(); i++) {
    bool kept = i >= shift && (input.sizes[i - shift] != 1 || output->sizes[i] == 1);
    output->strides.push_back(kept ? input.strides[i - shift] : 0);
  }
  return true;
}

void expand_grad(GradContext& c) { c.set(0, c.grad()); }  // set() sums back to the input's shape

void sbp_expand(sbp::RuleContext& c) {
  for (size_t dim = 0; dim < c.outputs[0].size(); dim++) c.add_aligned_split(static_cast<int64_t>(dim));
  sbp::add_moved(c);
}

int64_t new_dim(const void* attrs, int64_t rank) {
  return wrap_dim(static_cast<const DimAttrs*>(attrs)->dim, rank + 1, "unsqueeze");
}

void infer_unsqueeze(InferContext& c) {
  Dims sizes = c.in(0).sizes;
  sizes.insert(sizes.begin() + new_dim(c.attributes, c.in(0).rank()), 1);
  c.output(c.in(0).dtype, sizes);
}

bool view_unsqueeze(const Geometry& input, const void* attrs, Geometry* output) {
  int64_t rank = static_cast<int64_t>(input.sizes.size()), dim = new_dim(attrs, rank);
  output->offset = input.offset;
  output->strides = input.strides;
  output->strides.insert(output->strides.begin() + dim,
                         dim < rank ? input.sizes[dim] * input.strides[dim] : 1);
  return true;
}

void unsqueeze_grad(GradContext& c) { c.set(0, op<"reshape">(c.grad(), c.input_meta(0).sizes)); }

void sbp_unsqueeze(sbp::RuleContext& c) {
  int64_t rank = static_cast<int64_t>(c.inputs[0].size()), added = new_dim(c.attributes, rank);
  for (int64_t dim = 0; dim < rank; dim++) c.add({{sbp::split(dim)}, {sbp::split(dim + (dim >= added))}});
  sbp::add_moved(c);
}

}  // namespace

void define_expand(OpRegistry& r) {
  r.op("expand(Tensor input, int[]... shape) -> Tensor", &ShapeAttrs::shape)
      .doc("A view in which dims of size 1 repeat; -1 keeps a size.")
      .infer(infer_expand)
      .view(view_expand)
      .grad("", expand_grad)
      .sbp(sbp_expand)
      .localize(holds_output_sizes<&ShapeAttrs::shape>)
      .cost(free_cost)
      .expose(kMethod);
  r.op("unsqueeze(Tensor input, int dim) -> Tensor", &DimAttrs::dim)
      .doc("A view with a dim of size 1 put in at dim.")
      .infer(infer_unsqueeze)
      .view(view_unsqueeze)
      .grad("", unsqueeze_grad)
      .sbp(sbp_unsqueeze)
      .cost(free_cost)
      .expose(kFunction | kMethod);
}

}  // namespace tw::ops
