// slice and select: a range or one position of a dim, as a view; and their gradients, zeros around what flows
// in.
#include "ops/view/slice.h"

#include "ir/emitter.h"
#include "sbp/rules.h"

namespace tw::ops {

using namespace ir;

namespace {

struct Range {
  int64_t start, count;
};

Range clamp_range(int64_t start, int64_t end, int64_t step, int64_t size) {
  TW_CHECK(step > 0, kValue, "slice: step must be positive, got ", step);
  auto clamp = [size](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size); };
  start = clamp(start);
  end = std::max(clamp(end), start);
  return {start, end > start ? (end - start - 1) / step + 1 : 0};
}

void infer_slice(InferContext& c) {
  const auto& a = c.attrs<SliceAttrs>();
  TW_CHECK(c.in(0).rank() > 0, kIndex, c.op, ": a 0-dim tensor cannot be sliced");
  int64_t dim = wrap_dim(a.dim, c.in(0).rank(), c.op);
  Dims sizes = c.in(0).sizes;
  sizes[dim] = clamp_range(a.start, a.end, a.step, sizes[dim]).count;
  c.output(c.in(0).dtype, sizes);
}

bool view_slice(const Geometry& input, const void* attrs, Geometry* output) {
  const auto& a = *static_cast<const SliceAttrs*>(attrs);
  int64_t dim = wrap_dim(a.dim, static_cast<int64_t>(input.sizes.size()), "slice");
  output->strides = input.strides;
  // A step that leaves one element may be any; the stride over it is never followed.
  (void)__builtin_mul_overflow(output->strides[dim], a.step, &output->strides[dim]);
  output->offset =
      input.offset + clamp_range(a.start, a.end, a.step, input.sizes[dim]).start * input.strides[dim];
  return true;
}

void slice_grad(GradContext& c) {
  const auto& a = c.attrs<SliceAttrs>();
  c.set(0, op<"slice_scatter_zeros">(c.grad(), c.input_meta(0).sizes, a.dim, a.start, a.end, a.step));
}

void infer_slice_scatter(InferContext& c) {
  const auto& a = c.attrs<SliceScatterAttrs>();
  Dims window = a.input_size;
  TW_CHECK(!window.empty(), kIndex, c.op, ": a 0-dim tensor cannot be sliced");
  numel(window);  // refuses negative sizes
  int64_t dim = wrap_dim(a.dim, static_cast<int64_t>(window.size()), c.op);
  window[dim] = clamp_range(a.start, a.end, a.step, window[dim]).count;
  TW_CHECK(c.in(0).sizes == window, kRuntime, c.op, ": grad of shape ", window, " is wanted, got ",
           c.in(0).sizes);
  c.output(c.in(0).dtype, a.input_size);
}

void slice_scatter_grad(GradContext& c) {
  const auto& a = c.attrs<SliceScatterAttrs>();
  c.set(0, op<"slice">(c.grad(), a.dim, a.start, a.end, a.step));
}

template <class A>
void sbp_other_dims(sbp::RuleContext& c) {
  int64_t rank = static_cast<int64_t>(c.inputs[0].size());
  int64_t cut = wrap_dim(c.attrs<A>().dim, rank, "slice");
  for (int64_t dim = 0; dim < rank; dim++)
    if (dim != cut) c.add({{sbp::split(dim)}, {sbp::split(dim)}});
  sbp::add_moved(c);
}

int64_t wrap_index(int64_t index, int64_t size, int64_t dim) {
  TW_CHECK(index >= -size && index < size, kIndex, "select: index ", index, " is out of range for dim ", dim,
           " of size ", size);
  return index < 0 ? index + size : index;
}

void infer_select(InferContext& c) {
  const auto& a = c.attrs<SelectAttrs>();
  TW_CHECK(c.in(0).rank() > 0, kIndex, c.op, ": a 0-dim tensor has nothing to select from");
  int64_t dim = wrap_dim(a.dim, c.in(0).rank(), c.op);
  wrap_index(a.index, c.in(0).size(dim), dim);
  Dims sizes = c.in(0).sizes;
  sizes.erase(sizes.begin() + dim);
  c.output(c.in(0).dtype, sizes);
}

bool view_select(const Geometry& input, const void* attrs, Geometry* output) {
  const auto& a = *static_cast<const SelectAttrs*>(attrs);
  int64_t dim = wrap_dim(a.dim, static_cast<int64_t>(input.sizes.size()), "select");
  output->strides = input.strides;
  output->strides.erase(output->strides.begin() + dim);
  output->offset = input.offset + wrap_index(a.index, input.sizes[dim], dim) * input.strides[dim];
  return true;
}

void select_grad(GradContext& c) {
  const auto& a = c.attrs<SelectAttrs>();
  c.set(0, op<"select_scatter_zeros">(c.grad(), c.input_meta(0).sizes, a.dim, a.index));
}

void infer_select_scatter(InferContext& c) {
  const auto& a = c.attrs<SelectScatterAttrs>();
  Dims plane = a.input_size;
  TW_CHECK(!plane.empty(), kIndex, c.op, ": a 0-dim tensor has nothing to select from");
  numel(plane);  // refuses negative sizes
  int64_t dim = wrap_dim(a.dim, static_cast<int64_t>(plane.size()), c.op);
  wrap_index(a.index, plane[dim], dim);
  plane.erase(plane.begin() + dim);
  TW_CHECK(c.in(0).sizes == plane, kRuntime, c.op, ": grad of shape ", plane, " is wanted, got ",
           c.in(0).sizes);
  c.output(c.in(0).dtype, a.input_size);
}

void select_scatter_grad(GradContext& c) {
  const auto& a = c.attrs<SelectScatterAttrs>();
  c.set(0, op<"select">(c.grad(), a.dim, a.index));
}

template <class A>
void sbp_select(sbp::RuleContext& c) {
  bool scatter = c.outputs[0].size() > c.inputs[0].size();
  int64_t rank = static_cast<int64_t>(std::max(c.inputs[0].size(), c.outputs[0].size()));
  int64_t cut = wrap_dim(c.attrs<A>().dim, rank, "select");
  for (int64_t dim = 0; dim < rank; dim++) {
    if (dim == cut) continue;
    sbp::Sbp full = sbp::split(dim), reduced = sbp::split(dim - (dim > cut));
    c.add(scatter ? sbp::Signature{{reduced}, {full}} : sbp::Signature{{full}, {reduced}});
  }
  sbp::add_moved(c);
}

}  // namespace

void define_slice(OpRegistry& r) {
  r.op("slice(Tensor input, int dim, int start, int end, int step=1) -> Tensor", &SliceAttrs::dim,
       &SliceAttrs::start, &SliceAttrs::end, &SliceAttrs::step)
      .doc("A view of positions start, start + step, ... below end of a dim, as Python slices count them.")
      .infer(infer_slice)
      .cut(view_slice)
      .grad("", slice_grad)
      .sbp(sbp_other_dims<SliceAttrs>)
      .cost(free_cost);
  r.op("slice_scatter_zeros(Tensor grad, int[] input_size, int dim, int start, int end, int step) -> Tensor",
       &SliceScatterAttrs::input_size, &SliceScatterAttrs::dim, &SliceScatterAttrs::start,
       &SliceScatterAttrs::end, &SliceScatterAttrs::step)
      .doc("Zeros of input_size with grad at the sliced positions: the gradient of slice.")
      .infer(infer_slice_scatter)
      .grad("", slice_scatter_grad)
      .sbp(sbp_other_dims<SliceScatterAttrs>)
      .localize(holds_output_sizes<&SliceScatterAttrs::input_size>)
      .cost(copy_cost);
  r.op("select(Tensor input, int dim, int index) -> Tensor", &SelectAttrs::dim, &SelectAttrs::index)
      .doc("A view of one position of a dim, without that dim.")
      .infer(infer_select)
      .cut(view_select)
      .grad("", select_grad)
      .sbp(sbp_select<SelectAttrs>)
      .cost(free_cost)
      .expose(kFunction | kMethod);
  r.op("select_scatter_zeros(Tensor grad, int[] input_size, int dim, int index) -> Tensor",
       &SelectScatterAttrs::input_size, &SelectScatterAttrs::dim, &SelectScatterAttrs::index)
      .doc("Zeros of input_size with grad at one position of a dim: the gradient of select.")
      .infer(infer_select_scatter)
      .grad("", select_scatter_grad)
      .sbp(sbp_select<SelectScatterAttrs>)
      .localize(holds_output_sizes<&SelectScatterAttrs::input_size>)
      .cost(copy_cost);
}

}  // namespace tw::ops
