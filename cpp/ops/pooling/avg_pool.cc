// Means of windows, and the gradient, which spreads each value over its window. Each is linear, and each is
// the other's gradient.
#include "ops/pooling/pool_rules.h"

namespace tw::ops {

using namespace ir;

namespace {

void infer_avg_pool(InferContext& c) {
  const auto& a = c.attrs<AvgPoolAttrs>();
  check_planes(c, a.kernel_size.size());
  IntList ones(a.kernel_size.size(), 1);
  check_window(c, a.kernel_size, a.stride, a.padding, ones);
  TW_CHECK(a.divisor_override.value_or(1) != 0, kRuntime, c.op,
           ": a divisor_override other than 0 is wanted");
  c.output(c.in(0).dtype, pooled_shape(c, a.kernel_size, a.stride, a.padding, ones, a.ceil_mode));
}

void infer_adaptive_avg_pool(InferContext& c) {
  const auto& a = c.attrs<AdaptiveAttrs>();
  check_planes(c, a.output_size.size());
  Dims sizes{c.in(0).size(0), c.in(0).size(1)};
  for (int64_t size : a.output_size) {
    TW_CHECK(size >= 0, kRuntime, c.op, ": output sizes of at least 0 are wanted, got ", a.output_size);
    sizes.push_back(size);
  }
  c.output(c.in(0).dtype, sizes);
}

template <class A>
void infer_backward(InferContext& c) {
  Dims sizes{c.in(0).size(0), c.in(0).size(1)};
  const IntList& size = c.attrs<A>().input_size;
  sizes.append(size.begin(), size.end());
  c.output(c.in(0).dtype, sizes);
}

IntList spatial_of(const Dims& sizes) { return IntList(sizes.begin() + 2, sizes.end()); }

void avg_pool_grad(GradContext& c) {
  const auto& a = c.attrs<AvgPoolAttrs>();
  c.set(0, op<"avg_pool_backward">(c.grad(), spatial_of(c.input_meta(0).sizes), a.kernel_size, a.stride,
                                   a.padding, a.ceil_mode, a.count_include_pad, a.divisor_override));
}

void avg_pool_backward_grad(GradContext& c) {
  const auto& a = c.attrs<AvgPoolBackwardAttrs>();
  c.set(0, op<"avg_pool">(c.grad(), a.kernel_size, a.stride, a.padding, a.ceil_mode, a.count_include_pad,
                          a.divisor_override));
}

// A mean over everything spreads as a view: what reads it keeps the order of its other inputs.
void adaptive_grad(GradContext& c) {
  const Dims& sizes = c.input_meta(0).sizes;
  if (numel(spatial_of(c.grad()->sizes)) == 1 && is_float(c.grad()->dtype)) {
    auto count = static_cast<double>(numel(spatial_of(sizes)));
    return c.set(0, op<"expand">(op<"true_divide">(c.grad(), count), sizes));
  }
  c.set(0, op<"adaptive_avg_pool_backward">(c.grad(), spatial_of(c.input_meta(0).sizes)));
}

void adaptive_backward_grad(GradContext& c) {
  c.set(0, op<"adaptive_avg_pool">(c.grad(), spatial_of(c.input_meta(0).sizes)));
}

}  // namespace

void define_avg_pool(OpRegistry& r) {
  using A = AvgPoolAttrs;
  using B = AvgPoolBackwardAttrs;
  r.op("avg_pool(Tensor input, int[] kernel_size, int[] stride, int[] padding, bool ceil_mode=False, "
       "bool count_include_pad=True, int? divisor_override=None) -> Tensor",
       &A::kernel_size, &A::stride, &A::padding, &A::ceil_mode, &A::count_include_pad, &A::divisor_override)
      .doc("The mean of each window.")
      .infer(infer_avg_pool)
      .grad("", avg_pool_grad)
      .sbp(sbp_linear_planes)
      .order(ResultOrder::kChannelsLast)
      .cost(reduction_cost<2>);
  r.op("avg_pool_backward(Tensor grad, int[] input_size, int[] kernel_size, int[] stride, int[] padding, "
       "bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor",
       &B::input_size, &B::kernel_size, &B::stride, &B::padding, &B::ceil_mode, &B::count_include_pad,
       &B::divisor_override)
      .doc("Each value spread over its window of avg_pool.")
      .infer(infer_backward<B>)
      .grad("", avg_pool_backward_grad)
      .sbp(sbp_linear_planes)
      .order(ResultOrder::kChannelsLast)
      .cost(pointwise_cost<2>);
  r.op("adaptive_avg_pool(Tensor input, int[] output_size) -> Tensor", &AdaptiveAttrs::output_size)
      .doc("The means of windows cut so that the output has the given size.")
      .infer(infer_adaptive_avg_pool)
      .grad("", adaptive_grad)
      .sbp(sbp_linear_planes)
      .order(ResultOrder::kChannelsLast)
      .cost(reduction_cost<2>);
  r.op("adaptive_avg_pool_backward(Tensor grad, int[] input_size) -> Tensor",
       &AdaptiveBackwardAttrs::input_size)
      .doc("Each value spread over its window of adaptive_avg_pool.")
      .infer(infer_backward<AdaptiveBackwardAttrs>)
      .grad("", adaptive_backward_grad)
      .sbp(sbp_linear_planes)
      .order(ResultOrder::kChannelsLast)
      .cost(pointwise_cost<2>);
}

}  // namespace tw::ops
