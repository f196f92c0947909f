// The largest element of each window, with its flat position in the plane; ties go to the first, and NaN is
// the largest. Gradients put values back at those positions: plane_scatter; and its own gradient picks them:
// plane_gather.
#include "ops/pooling/pool_rules.h"

namespace tw::ops {

using namespace ir;

namespace {

void infer_max_pool(InferContext& c) {
  const auto& a = c.attrs<MaxPoolAttrs>();
  check_planes(c, a.kernel_size.size());
  check_window(c, a.kernel_size, a.stride, a.padding, a.dilation);
  Dims sizes = pooled_shape(c, a.kernel_size, a.stride, a.padding, a.dilation, a.ceil_mode);
  c.output(c.in(0).dtype, sizes);
  c.output(DType::kInt64, sizes);
}

void infer_adaptive_max_pool(InferContext& c) {
  const auto& a = c.attrs<AdaptiveAttrs>();
  check_planes(c, a.output_size.size());
  Dims sizes{c.in(0).size(0), c.in(0).size(1)};
  for (int64_t size : a.output_size) {
    TW_CHECK(size >= 0, kRuntime, c.op, ": output sizes of at least 0 are wanted, got ", a.output_size);
    sizes.push_back(size);
  }
  c.output(c.in(0).dtype, sizes);
  c.output(DType::kInt64, sizes);
}

Dims spatial_sizes(const Dims& sizes) { return Dims(sizes.begin() + 2, sizes.end()); }

void pool_grad(GradContext& c) {
  if (c.grad(0))
    c.set(0, op<"plane_scatter">(c.grad(0), c.output(1), spatial_sizes(c.input_meta(0).sizes), true));
}

void check_indices(const InferContext& c, bool same_shape) {
  const auto &x = c.in(0), &indices = c.in(1);
  TW_CHECK(indices.dtype == DType::kInt64, kRuntime, c.op, ": indices of dtype int64 are wanted, got ",
           indices.dtype);
  TW_CHECK(x.rank() >= 3 && x.rank() == indices.rank() && x.size(0) == indices.size(0) &&
               x.size(1) == indices.size(1) && (!same_shape || x.sizes == indices.sizes),
           kRuntime, c.op, ": the shapes of values and indices do not fit: ", x.sizes, " and ",
           indices.sizes);
}

void infer_plane_scatter(InferContext& c) {
  check_indices(c, true);
  Dims sizes{c.in(0).size(0), c.in(0).size(1)};
  const IntList& size = c.attrs<PlaneScatterAttrs>().size;
  sizes.append(size.begin(), size.end());
  c.output(c.in(0).dtype, sizes);
}

void infer_plane_gather(InferContext& c) {
  check_indices(c, false);
  c.output(c.in(0).dtype, c.in(1).sizes);
}

void plane_scatter_grad(GradContext& c) { c.set(0, op<"plane_gather">(c.grad(), c.input(1))); }
void plane_gather_grad(GradContext& c) {
  c.set(0, op<"plane_scatter">(c.grad(), c.input(1), spatial_sizes(c.input_meta(0).sizes), true));
}

// Values that are added to a plane may be a share of them.
void sbp_plane_scatter(sbp::RuleContext& c) {
  sbp_linear_planes(c);
  if (!c.attrs<PlaneScatterAttrs>().accumulate) return;
  for (int64_t dim = 2; dim < static_cast<int64_t>(c.inputs[0].size()); dim++)
    c.add({{sbp::split(dim), sbp::split(dim)}, {sbp::partial()}});
}

// Elements of a plane are moved to where indices say.
void sbp_plane_gather(sbp::RuleContext& c) {
  sbp_planes(c);
  sbp::add_moved(c);
  for (int64_t dim = 2; dim < static_cast<int64_t>(c.inputs[1].size()); dim++)
    c.add({{sbp::broadcast(), sbp::split(dim)}, {sbp::split(dim)}});
}

}  // namespace

void define_max_pool(OpRegistry& r) {
  using A = MaxPoolAttrs;
  r.op("max_pool(Tensor input, int[] kernel_size, int[] stride, int[] padding, int[] dilation, bool "
       "ceil_mode=False) -> "
       "(Tensor result, Tensor indices)",
       &A::kernel_size, &A::stride, &A::padding, &A::dilation, &A::ceil_mode)
      .doc("The largest element of each window and its flat position in the plane.")
      .infer(infer_max_pool)
      .grad("indices", pool_grad)
      .sbp(sbp_planes)
      .order(ResultOrder::kChannelsLast)
      .cost(reduction_cost<4>);
  r.op("adaptive_max_pool(Tensor input, int[] output_size) -> (Tensor result, Tensor indices)",
       &AdaptiveAttrs::output_size)
      .doc("max_pool over windows cut so that the output has the given size.")
      .infer(infer_adaptive_max_pool)
      .grad("indices", pool_grad)
      .sbp(sbp_planes)
      .order(ResultOrder::kChannelsLast)
      .cost(reduction_cost<2>);
  r.op("plane_scatter(Tensor input, Tensor indices, int[] size, bool accumulate) -> Tensor",
       &PlaneScatterAttrs::size, &PlaneScatterAttrs::accumulate)
      .doc("Planes of zeros with each value added (or put) at its flat position.")
      .infer(infer_plane_scatter)
      .grad("indices", plane_scatter_grad)
      .sbp(sbp_plane_scatter)
      .order(ResultOrder::kChannelsLast, 0b11)
      .cost(copy_cost);
  r.op("plane_gather(Tensor input, Tensor indices) -> Tensor")
      .doc("The elements at flat positions of each plane.")
      .infer(infer_plane_gather)
      .grad("indices", plane_gather_grad)
      .sbp(sbp_plane_gather)
      .order(ResultOrder::kChannelsLast, 0b11)
      .cost(copy_cost);
}

}  // namespace tw::ops
