// view_as_real: complex (...) seen as real (..., 2), real and imaginary parts. view_as_complex: the reverse,
// which wants the pairs to lie together. Views.
#include <algorithm>

#include "base/dtype.h"
#include "ir/emitter.h"

namespace tw::ops {

using namespace ir;

namespace {

void infer_view_as_real(InferContext& c) {
  const ValueImpl& x = c.in(0);
  TW_CHECK(is_complex(x.dtype), kRuntime, c.op, ": a complex tensor is wanted, got dtype ", x.dtype);
  Dims sizes = x.sizes;
  sizes.push_back(2);
  c.output(real_of(x.dtype), sizes);
}

bool view_view_as_real(const Geometry& input, const void*, Geometry* output) {
  output->offset = 2 * input.offset;
  for (int64_t stride : input.strides) output->strides.push_back(2 * stride);
  output->strides.push_back(1);
  return true;
}

void infer_view_as_complex(InferContext& c) {
  const ValueImpl& x = c.in(0);
  TW_CHECK(x.dtype == DType::kFloat32 || x.dtype == DType::kFloat64, kRuntime, c.op,
           ": a float32 or float64 tensor is wanted, got dtype ", x.dtype);
  TW_CHECK(!x.sizes.empty() && x.sizes.back() == 2, kRuntime, c.op,
           ": a last dim of size 2 is wanted, got shape ", x.sizes);
  Dims sizes = x.sizes;
  sizes.pop_back();
  c.output(complex_of(x.dtype), sizes);
}

bool view_view_as_complex(const Geometry& input, const void*, Geometry* output) {
  bool whole = input.strides.back() == 1 && input.offset % 2 == 0;
  for (size_t i = 0; i + 1 < input.strides.size(); i++) {
    whole = whole && input.strides[i] % 2 == 0;
    output->strides.push_back(input.strides[i] / 2);
  }
  TW_CHECK(whole, kRuntime, "view_as_complex: pairs that lie together are wanted, got strides ",
           input.strides, " and offset ", input.offset);
  output->offset = input.offset / 2;
  return true;
}

// The gradient may lie anyhow; its pairs are put together first.
void view_as_real_grad(GradContext& c) { c.set(0, op<"view_as_complex">(op<"row_major">(c.grad()))); }
void view_as_complex_grad(GradContext& c) { c.set(0, op<"view_as_real">(c.grad())); }

void sbp_all_but_pairs(sbp::RuleContext& c) {
  auto rank = static_cast<int64_t>(std::min(c.inputs[0].size(), c.outputs[0].size()));
  for (int64_t dim = 0; dim < rank; dim++) c.add({{sbp::split(dim)}, {sbp::split(dim)}});
  c.add({{sbp::partial()}, {sbp::partial()}});
}

}  // namespace

void define_complex_view(OpRegistry& r) {
  r.op("view_as_real(Tensor input) -> Tensor")
      .doc("A complex tensor seen as a real one with a last dim of real and imaginary part.")
      .infer(infer_view_as_real)
      .view(view_view_as_real)
      .grad("", view_as_real_grad)
      .sbp(sbp_all_but_pairs)
      .cost(free_cost)
      .expose(kFunction);
  r.op("view_as_complex(Tensor input) -> Tensor")
      .doc("A real tensor whose last dim holds real and imaginary part, seen as a complex one.")
      .infer(infer_view_as_complex)
      .view(view_view_as_complex)
      .grad("", view_as_complex_grad)
      .sbp(sbp_all_but_pairs)
      .cost(free_cost)
      .expose(kFunction);
}

}  // namespace tw::ops
