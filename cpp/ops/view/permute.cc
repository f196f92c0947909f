// permute, transpose: the dims in another order. Views.
#include "ir/emitter.h"
#include "ops/view/reshape.h"
#include "sbp/rules.h"

namespace tw::ops {

using namespace ir;

namespace {

Dims permutation(const IntList& dims, int64_t rank, const char* name) {
  TW_CHECK(static_cast<int64_t>(dims.size()) == rank, kRuntime, name, ": ", rank, " dims are wanted, got ",
           dims);
  return wrap_dims(dims, rank, name);
}

void infer_permute(InferContext& c) {
  Dims sizes;
  for (int64_t dim : permutation(c.attrs<DimsAttrs>().dims, c.in(0).rank(), c.op))
    sizes.push_back(c.in(0).size(dim));
  c.output(c.in(0).dtype, sizes);
}

bool view_permute(const Geometry& input, const void* attrs, Geometry* output) {
  output->offset = input.offset;
  const auto& dims = static_cast<const DimsAttrs*>(attrs)->dims;
  for (int64_t dim : permutation(dims, static_cast<int64_t>(input.sizes.size()), "permute"))
    output->strides.push_back(input.strides[dim]);
  return true;
}

void permute_grad(GradContext& c) {
  Dims dims =
      permutation(c.attrs<DimsAttrs>().dims, static_cast<int64_t>(c.input_meta(0).sizes.size()), "permute");
  IntList inverse(dims.size());
  for (size_t i = 0; i < dims.size(); i++) inverse[dims[i]] = static_cast<int64_t>(i);
  c.set(0, op<"permute">(c.grad(), inverse));
}

void sbp_permute(sbp::RuleContext& c) {
  Dims dims = wrap_dims(c.attrs<DimsAttrs>().dims, static_cast<int64_t>(c.inputs[0].size()), "permute");
  for (size_t i = 0; i < dims.size(); i++)
    c.add({{sbp::split(dims[i])}, {sbp::split(static_cast<int64_t>(i))}});
  sbp::add_moved(c);
}

std::pair<int64_t, int64_t> two_dims(const void* attrs, int64_t rank) {
  const auto& a = *static_cast<const TwoDimsAttrs*>(attrs);
  return {wrap_dim(a.dim0, rank, "transpose"), wrap_dim(a.dim1, rank, "transpose")};
}

void infer_transpose(InferContext& c) {
  auto [a, b] = two_dims(c.attributes, c.in(0).rank());
  Dims sizes = c.in(0).sizes;
  if (a != b) std::swap(sizes[a], sizes[b]);
  c.output(c.in(0).dtype, sizes);
}

bool view_transpose(const Geometry& input, const void* attrs, Geometry* output) {
  auto [a, b] = two_dims(attrs, static_cast<int64_t>(input.sizes.size()));
  output->offset = input.offset;
  output->strides = input.strides;
  if (a != b) std::swap(output->strides[a], output->strides[b]);
  return true;
}

void transpose_grad(GradContext& c) {
  const auto& a = c.attrs<TwoDimsAttrs>();
  c.set(0, op<"transpose">(c.grad(), a.dim0, a.dim1));
}

void sbp_transpose(sbp::RuleContext& c) {
  int64_t rank = static_cast<int64_t>(c.inputs[0].size());
  if (rank == 0) return;
  auto [a, b] = two_dims(c.attributes, rank);
  for (int64_t dim = 0; dim < rank; dim++)
    c.add({{sbp::split(dim)}, {sbp::split(dim == a ? b : dim == b ? a : dim)}});
  sbp::add_moved(c);
}

}  // namespace

void define_permute(OpRegistry& r) {
  r.op("permute(Tensor input, int[]... dims) -> Tensor", &DimsAttrs::dims)
      .doc("A view with the dims in the given order.")
      .infer(infer_permute)
      .view(view_permute)
      .grad("", permute_grad)
      .sbp(sbp_permute)
      .cost(free_cost)
      .expose(kFunction | kMethod);
  r.op("transpose(Tensor input, int dim0, int dim1) -> Tensor", &TwoDimsAttrs::dim0, &TwoDimsAttrs::dim1)
      .doc("A view with two dims swapped.")
      .infer(infer_transpose)
      .view(view_transpose)
      .grad("", transpose_grad)
      .sbp(sbp_transpose)
      .cost(free_cost)
      .expose(kMethod);
}

}  // namespace tw::ops
