// squeeze: dims of size 1 left out. diagonal: the elements (i, i + offset) of two dims as a last dim. unfold:
// windows of a dim as a last dim. Views.
#include "ir/emitter.h"
#include "ops/view/windows.h"
#include "sbp/rules.h"

namespace tw::ops {

using namespace ir;

namespace {

// Which dims go: those named, or all, as far as their size is 1.
std::vector<bool> squeezed(const Dims& sizes, const std::optional<IntList>& dim) {
  int64_t rank = static_cast<int64_t>(sizes.size());
  std::vector<bool> gone(sizes.size(), !dim);
  if (dim)
    for (int64_t d : wrap_dims(*dim, rank, "squeeze"))
      if (rank > 0) gone[d] = true;
  for (size_t i = 0; i < sizes.size(); i++)
    if (sizes[i] != 1) gone[i] = false;
  return gone;
}

Dims without(const Dims& values, const std::vector<bool>& gone) {
  Dims result;
  for (size_t i = 0; i < values.size(); i++)
    if (!gone[i]) result.push_back(values[i]);
  return result;
}

void infer_squeeze(InferContext& c) {
  const Dims& sizes = c.in(0).sizes;
  c.output(c.in(0).dtype, without(sizes, squeezed(sizes, c.attrs<SqueezeAttrs>().dim)));
}

bool view_squeeze(const Geometry& input, const void* attrs, Geometry* output) {
  output->offset = input.offset;
  output->strides =
      without(input.strides, squeezed(input.sizes, static_cast<const SqueezeAttrs*>(attrs)->dim));
  return true;
}

void squeeze_grad(GradContext& c) { c.set(0, op<"reshape">(c.grad(), c.input_meta(0).sizes)); }

// A shard may have size 1 where the whole has not: only dims that the op was not asked to squeeze may be
// split.
void sbp_squeeze(sbp::RuleContext& c) {
  sbp::add_moved(c);
  const auto& dim = c.attrs<SqueezeAttrs>().dim;
  if (!dim) return;
  int64_t rank = static_cast<int64_t>(c.inputs[0].size()), to = 0;
  Dims named = wrap_dims(*dim, rank, "squeeze");
  std::vector<bool> gone = squeezed(c.inputs[0], dim);
  for (int64_t d = 0; d < rank; d++) {
    if (gone[d]) continue;
    if (std::find(named.begin(), named.end(), d) == named.end()) c.add({{sbp::split(d)}, {sbp::split(to)}});
    to++;
  }
}

struct Diagonal {
  int64_t dim1, dim2, count, first;  // first: offset in elements from the input's first
};

Diagonal find_diagonal(const Dims& sizes, const Dims& strides, const DiagonalAttrs& a) {
  int64_t rank = static_cast<int64_t>(sizes.size());
  TW_CHECK(rank >= 2, kIndex, "diagonal: at least 2 dims are wanted, got shape ", sizes);
  Diagonal d{wrap_dim(a.dim1, rank, "diagonal"), wrap_dim(a.dim2, rank, "diagonal"), 0, 0};
  TW_CHECK(d.dim1 != d.dim2, kRuntime, "diagonal: two different dims are wanted, got ", a.dim1, " and ",
           a.dim2);
  int64_t rows = sizes[d.dim1] + std::min<int64_t>(a.offset, 0);
  int64_t columns = sizes[d.dim2] - std::max<int64_t>(a.offset, 0);
  d.count = std::max<int64_t>(0, std::min(rows, columns));
  if (d.count > 0) d.first = a.offset >= 0 ? a.offset * strides[d.dim2] : -a.offset * strides[d.dim1];
  return d;
}

Dims without_two(const Dims& values, const Diagonal& d, int64_t last) {
  Dims result;
  for (int64_t i = 0; i < static_cast<int64_t>(values.size()); i++)
    if (i != d.dim1 && i != d.dim2) result.push_back(values[i]);
  result.push_back(last);
  return result;
}

void infer_diagonal(InferContext& c) {
  const Dims& sizes = c.in(0).sizes;
  Diagonal d = find_diagonal(sizes, sizes, c.attrs<DiagonalAttrs>());
  c.output(c.in(0).dtype, without_two(sizes, d, d.count));
}

bool view_diagonal(const Geometry& input, const void* attrs, Geometry* output) {
  Diagonal d = find_diagonal(input.sizes, input.strides, *static_cast<const DiagonalAttrs*>(attrs));
  output->offset = input.offset + d.first;
  output->strides = without_two(input.strides, d, input.strides[d.dim1] + input.strides[d.dim2]);
  return true;
}

void diagonal_grad(GradContext& c) {
  const Dims& sizes = c.input_meta(0).sizes;
  Dims strides = contiguous_strides(sizes);
  Diagonal d = find_diagonal(sizes, strides, c.attrs<DiagonalAttrs>());
  c.set(0, op<"as_strided_scatter">(c.grad(), sizes, without_two(sizes, d, d.count),
                                    without_two(strides, d, strides[d.dim1] + strides[d.dim2]), d.first));
}

void sbp_diagonal(sbp::RuleContext& c) {
  Diagonal d = find_diagonal(c.inputs[0], c.inputs[0], c.attrs<DiagonalAttrs>());
  int64_t to = 0;
  for (int64_t i = 0; i < static_cast<int64_t>(c.inputs[0].size()); i++)
    if (i != d.dim1 && i != d.dim2) c.add({{sbp::split(i)}, {sbp::split(to++)}});
  sbp::add_moved(c);
}

// Sizes and strides of the windows, given those of the input.
Geometry windows(const Dims& sizes, const Dims& strides, const UnfoldAttrs& a) {
  int64_t rank = static_cast<int64_t>(sizes.size()), dim = wrap_dim(a.dimension, rank, "unfold");
  int64_t length = rank ? sizes[dim] : 1;
  TW_CHECK(a.step > 0, kRuntime, "unfold: step must be positive, got ", a.step);
  TW_CHECK(a.size >= 0 && a.size <= length, kRuntime, "unfold: size must be in [0, ", length, "], got ",
           a.size);
  Geometry g{sizes, strides, 0};
  if (rank) {
    g.sizes[dim] = (length - a.size) / a.step + 1;
    (void)__builtin_mul_overflow(strides[dim], a.step, &g.strides[dim]);
  }
  g.sizes.push_back(a.size);
  g.strides.push_back(rank ? strides[dim] : 1);
  return g;
}

void infer_unfold(InferContext& c) {
  c.output(c.in(0).dtype, windows(c.in(0).sizes, c.in(0).sizes, c.attrs<UnfoldAttrs>()).sizes);
}

bool view_unfold(const Geometry& input, const void* attrs, Geometry* output) {
  output->offset = input.offset;
  output->strides = windows(input.sizes, input.strides, *static_cast<const UnfoldAttrs*>(attrs)).strides;
  return true;
}

void unfold_grad(GradContext& c) {
  const Dims& sizes = c.input_meta(0).sizes;
  Geometry g = windows(sizes, contiguous_strides(sizes), c.attrs<UnfoldAttrs>());
  c.set(0, op<"as_strided_scatter">(c.grad(), sizes, g.sizes, g.strides, 0));
}

void sbp_unfold(sbp::RuleContext& c) {
  int64_t rank = static_cast<int64_t>(c.inputs[0].size()),
          cut = wrap_dim(c.attrs<UnfoldAttrs>().dimension, rank, "unfold");
  for (int64_t d = 0; d < rank; d++)
    if (d != cut) c.add({{sbp::split(d)}, {sbp::split(d)}});
  sbp::add_moved(c);
}

}  // namespace

void define_squeeze(OpRegistry& r) {
  r.op("squeeze(Tensor input, int[]? dim=None) -> Tensor", &SqueezeAttrs::dim)
      .doc("A view without the dims of size 1, or without those of dim that have size 1.")
      .infer(infer_squeeze)
      .view(view_squeeze)
      .grad("", squeeze_grad)
      .sbp(sbp_squeeze)
      .cost(free_cost)
      .expose(kFunction | kMethod);
  r.op("diagonal(Tensor input, int offset=0, int dim1=0, int dim2=1) -> Tensor", &DiagonalAttrs::offset,
       &DiagonalAttrs::dim1, &DiagonalAttrs::dim2)
      .doc("A view of the diagonal of two dims as a new last dim; a positive offset lies above the main one.")
      .infer(infer_diagonal)
      .cut(view_diagonal)
      .grad("", diagonal_grad)
      .sbp(sbp_diagonal)
      .cost(free_cost)
      .expose(kFunction | kMethod);
  r.op("unfold(Tensor input, int dimension, int size, int step) -> Tensor", &UnfoldAttrs::dimension,
       &UnfoldAttrs::size, &UnfoldAttrs::step)
      .doc("A view of all windows of the given size along a dim, step apart, each as a new last dim.")
      .infer(infer_unfold)
      .view(view_unfold)
      .grad("", unfold_grad)
      .sbp(sbp_unfold)
      .cost(free_cost)
      .expose(kMethod);
}

}  // namespace tw::ops
