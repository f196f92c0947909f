// convolution: cross-correlation over one to three dims, and its transpose; every conv and its gradients are
// these two and convolution_weight.
//
//   plain:      x[N, I, *D], w[O, I/g, *K] → y[N, O, *P]:  y[n, o, p] = Σ_i,k x[n, i, s·p - pad + d·k] w[o,
//   i, k] transposed: x[N, O, *P], w[O, I/g, *K] → y[N, I, *D], the plain one's gradient with respect to x
//   weight:     g[N, O, *P], x[N, I, *D] → w[O, I/g, *K]:  w[o, i, k] = Σ_n,p g[n, o, p] x[n, i, s·p - pad +
//   d·k]
// Each is linear in both tensors, and the three are one another's gradients, so that any order exists.
// convolution_then is the plain one with what static programs do to its result: relu(shift + y scale +
// residual).
#include "ops/conv/convolution.h"

#include "ir/emitter.h"

namespace tw::ops {

using namespace ir;

namespace {

void check_lists(InferContext& c, int64_t dims, const IntList& stride, const IntList& padding,
                 const IntList& dilation) {
  struct {
    const char* name;
    const IntList& list;
    int64_t least;
  } all[] = {{"stride", stride, 1}, {"padding", padding, 0}, {"dilation", dilation, 1}};
  for (auto& [name, list, least] : all) {
    TW_CHECK(static_cast<int64_t>(list.size()) == dims, kRuntime, c.op, ": ", name, " with ", dims,
             " numbers is wanted, got ", list);
    for (int64_t value : list)
      TW_CHECK(value >= least, kRuntime, c.op, ": ", name, " of at least ", least, " is wanted, got ", list);
  }
}

// Shapes, dtypes and lists that fit each other.
template <class Attrs>
void check_operands(InferContext& c, const Attrs& a, bool transposed) {
  const auto &x = c.in(0), &w = c.in(1);
  int64_t dims = w.rank() - 2;
  TW_CHECK(dims >= 1 && dims <= 3 && x.rank() == w.rank(), kRuntime, c.op,
           ": input and weight of one rank, 3 to 5, are wanted, got shapes ", x.sizes, " and ", w.sizes);
  check_lists(c, dims, a.stride, a.padding, a.dilation);
  TW_CHECK(a.groups >= 1 && w.size(0) % a.groups == 0, kRuntime, c.op, ": groups that divide ", w.size(0),
           " channels are wanted, got ", a.groups);
  int64_t channels = transposed ? w.size(0) : w.size(1) * a.groups;
  int64_t out_channels = transposed ? w.size(1) * a.groups : w.size(0);
  TW_CHECK(x.size(1) == channels, kRuntime, c.op, ": weight of shape ", w.sizes, " and ", a.groups,
           " groups want an input of ", channels, " channels, got shape ", x.sizes);
  TW_CHECK(x.dtype == w.dtype && (!c.has(2) || c.in(2).dtype == x.dtype), kRuntime, c.op,
           ": input, weight and bias must have one dtype, got ", x.dtype, " and ", w.dtype);
  TW_CHECK(!is_bool(x.dtype), kNotImplemented, c.op, ": dtype bool is not supported");
  if (c.has(2))
    TW_CHECK(c.in(2).rank() == 1 && c.in(2).size(0) == out_channels, kRuntime, c.op, ": a bias of shape [",
             out_channels, "] is wanted, got ", c.in(2).sizes);
  for (int64_t i = 0; i < dims; i++)
    TW_CHECK(w.size(i + 2) > 0, kRuntime, c.op, ": a kernel of size 0 is not supported, got weight ",
             w.sizes);
}

// The result's sizes of a convolution that is not transposed.
template <class Attrs>
Dims convolved_sizes(InferContext& c, const Attrs& a) {
  const auto &x = c.in(0), &w = c.in(1);
  Dims sizes{x.size(0), w.size(0)};
  for (int64_t i = 0; i < w.rank() - 2; i++) {
    int64_t padded = x.size(i + 2) + 2 * a.padding[i], reach = kernel_reach(w.size(i + 2), a.dilation[i]);
    TW_CHECK(padded >= reach, kRuntime, c.op, ": the kernel reaches over ", reach,
             " elements, the padded input of shape ", x.sizes, " has ", padded);
    sizes.push_back(convolved_size(x.size(i + 2), w.size(i + 2), a.stride[i], a.padding[i], a.dilation[i]));
  }
  return sizes;
}

void infer_convolution(InferContext& c) {
  const auto& a = c.attrs<ConvolutionAttrs>();
  const auto &x = c.in(0), &w = c.in(1);
  check_operands(c, a, a.transposed);
  if (!a.transposed) {
    c.output(x.dtype, convolved_sizes(c, a));
    return;
  }
  int64_t dims = w.rank() - 2;
  Dims sizes{x.size(0), w.size(1) * a.groups};
  for (int64_t i = 0; i < dims; i++) {
    int64_t extra = static_cast<int64_t>(a.output_padding.size()) == dims ? a.output_padding[i] : -1;
    TW_CHECK(extra >= 0, kRuntime, c.op, ": output_padding with ", dims,
             " numbers of at least 0 is wanted, got ", a.output_padding);
    sizes.push_back(transposed_size(x.size(i + 2), w.size(i + 2), a.stride[i], a.padding[i], a.dilation[i]) +
                    extra);
    TW_CHECK(sizes.back() >= 0, kRuntime, c.op, ": padding ", a.padding,
             " leaves nothing of an input of shape ", x.sizes);
  }
  c.output(x.dtype, sizes);
}

// grad may end before the convolution's output does: a transposed convolution whose output is padded beyond
// the stride.
void infer_convolution_weight(InferContext& c) {
  const auto& a = c.attrs<ConvolutionWeightAttrs>();
  const auto &g = c.in(0), &x = c.in(1);
  const Dims& w = a.weight_size;
  int64_t rank = static_cast<int64_t>(w.size()), dims = rank - 2;
  TW_CHECK(dims >= 1 && dims <= 3 && g.rank() == rank && x.rank() == rank && g.dtype == x.dtype, kRuntime,
           c.op, ": grad, input and weight_size of one rank, 3 to 5, and one dtype are wanted, got shapes ",
           g.sizes, " of ", g.dtype, ", ", x.sizes, " of ", x.dtype, " and ", w);
  check_lists(c, dims, a.stride, a.padding, a.dilation);
  bool fits = a.groups >= 1 && w[0] % a.groups == 0 && g.size(0) == x.size(0) && g.size(1) == w[0] &&
              x.size(1) == w[1] * a.groups;
  for (int64_t i = 0; fits && i < dims; i++) {
    int64_t positions = convolved_size(x.size(i + 2), w[i + 2], a.stride[i], a.padding[i], a.dilation[i]);
    fits = w[i + 2] > 0 && g.size(i + 2) <= std::max<int64_t>(positions, 0);
  }
  TW_CHECK(fits, kRuntime, c.op, ": grad ", g.sizes, " and input ", x.sizes,
           " do not belong to a weight of shape ", w, " in ", a.groups, " groups");
  c.output(g.dtype, w);
}

// What the transposed convolution of `sizes` lacks to reach `wanted`.
IntList missing(const Dims& wanted, const Dims& sizes, const Dims& kernel, const IntList& stride,
                const IntList& padding, const IntList& dilation) {
  IntList result;
  for (size_t i = 0; i < stride.size(); i++)
    result.push_back(wanted[i + 2] -
                     transposed_size(sizes[i + 2], kernel[i + 2], stride[i], padding[i], dilation[i]));
  return result;
}

// A plain convolution cut to `wanted`: an output padding beyond the stride lets it have more positions.
Value convolved(const Value& x, const Value& w, const IntList& stride, const IntList& padding,
                const IntList& dilation, int64_t groups, const Dims& wanted) {
  IntList none(stride.size(), 0);
  Value y = op<"convolution">(x, w, nullptr, stride, padding, dilation, false, none, groups);
  for (size_t dim = 2; dim < wanted.size(); dim++)
    if (y->size(dim) != wanted[dim]) y = op<"slice">(y, static_cast<int64_t>(dim), 0, wanted[dim]);
  return y;
}

Value transposed(const Value& x, const Value& w, const IntList& stride, const IntList& padding,
                 const IntList& dilation, int64_t groups, const Dims& wanted) {
  return op<"convolution">(x, w, nullptr, stride, padding, dilation, true,
                           missing(wanted, x->sizes, w->sizes, stride, padding, dilation), groups);
}

void infer_convolution_then(InferContext& c) {
  const auto& a = c.attrs<ConvolutionThenAttrs>();
  const auto &x = c.in(0), &w = c.in(1);
  check_operands(c, a, false);
  Dims sizes = convolved_sizes(c, a);
  TW_CHECK(x.dtype == DType::kFloat32, kType, c.op, ": dtype float32 is wanted, got ", x.dtype);
  TW_CHECK(c.has(3) == c.has(4), kValue, c.op, ": shift and scale go together");
  for (int i = 3; i < 5; i++)
    TW_CHECK(!c.has(i) || numel(c.in(i).sizes) == w.size(0), kValue, c.op,
             ": one number a channel is wanted, got shape ", c.in(i).sizes, " for ", w.size(0), " channels");
  TW_CHECK(!c.has(5) || c.in(5).sizes == sizes, kValue, c.op, ": a residual of shape ", sizes,
           " is wanted, got ", c.in(5).sizes);
  c.output(x.dtype, sizes);
}

void convolution_grad(GradContext& c) {
  const auto& a = c.attrs<ConvolutionAttrs>();
  const Value& g = c.grad();
  if (c.needs(0)) {
    Value w = conj(c.input(1));
    c.set(0, (a.transposed ? convolved : transposed)(g, w, a.stride, a.padding, a.dilation, a.groups,
                                                     c.input_meta(0).sizes));
  }
  if (c.needs(1)) {
    Value x = conj(c.input(0));
    c.set(1, op<"convolution_weight">(a.transposed ? x : g, a.transposed ? g : x, c.input_meta(1).sizes,
                                      a.stride, a.padding, a.dilation, a.groups));
  }
  if (c.needs(2)) {
    IntList dims{0};
    for (int64_t dim = 2; dim < g->rank(); dim++) dims.push_back(dim);
    c.set(2, op<"sum">(g, dims));
  }
}

void convolution_weight_grad(GradContext& c) {
  const auto& a = c.attrs<ConvolutionWeightAttrs>();
  if (c.needs(0))
    c.set(0, convolved(conj(c.input(1)), c.grad(), a.stride, a.padding, a.dilation, a.groups,
                       c.input_meta(0).sizes));
  if (c.needs(1))
    c.set(1, transposed(conj(c.input(0)), c.grad(), a.stride, a.padding, a.dilation, a.groups,
                        c.input_meta(1).sizes));
}

void sbp_convolution(sbp::RuleContext& c) {
  const auto& a = c.attrs<ConvolutionAttrs>();
  bool bias = c.present[2];
  auto pending = bias ? sbp::partial() : sbp::broadcast();
  c.add({{sbp::split(0), {}, {}}, {sbp::split(0)}});
  c.add({{sbp::partial(), {}, pending}, {sbp::partial()}});
  c.add({{{}, sbp::partial(), pending}, {sbp::partial()}});
  if (a.groups != 1) return;
  c.add({{{}, sbp::split(a.transposed ? 1 : 0), bias ? sbp::split(0) : sbp::broadcast()}, {sbp::split(1)}});
  c.add({{sbp::split(1), sbp::split(a.transposed ? 0 : 1), pending}, {sbp::partial()}});
}

void sbp_convolution_weight(sbp::RuleContext& c) {
  c.add({{sbp::split(0), sbp::split(0)}, {sbp::partial()}});
  c.add({{sbp::partial(), {}}, {sbp::partial()}});
  c.add({{{}, sbp::partial()}, {sbp::partial()}});
  if (c.attrs<ConvolutionWeightAttrs>().groups != 1) return;
  c.add({{sbp::split(1), {}}, {sbp::split(0)}});
  c.add({{{}, sbp::split(1)}, {sbp::split(1)}});
}

// Multiply-adds: each weight meets each position of the plain convolution's output, once an image.
double flops(const Dims& weight, const Dims& positions) {
  double result = 2.0 * static_cast<double>(numel(weight)) * static_cast<double>(positions[0]);
  for (size_t i = 2; i < positions.size(); i++) result *= static_cast<double>(positions[i]);
  return result;
}

Cost convolution_cost(const CostContext& c) {
  bool transposed = c.attrs<ConvolutionAttrs>().transposed;
  return {flops(c.inputs[1].sizes, (transposed ? c.inputs[0] : c.outputs[0]).sizes), c.bytes(), c.bytes()};
}

Cost convolution_then_cost(const CostContext& c) {
  return {flops(c.inputs[1].sizes, c.outputs[0].sizes), c.bytes(), c.bytes()};
}

Cost convolution_weight_cost(const CostContext& c) {
  return {flops(c.outputs[0].sizes, c.inputs[0].sizes), c.bytes(), c.bytes()};
}

}  // namespace

void define_convolution(OpRegistry& r) {
  using A = ConvolutionAttrs;
  using W = ConvolutionWeightAttrs;
  r.op("convolution(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, "
       "bool transposed, int[] output_padding, int groups) -> Tensor",
       &A::stride, &A::padding, &A::dilation, &A::transposed, &A::output_padding, &A::groups)
      .doc("A convolution over one, two or three dims, or its transpose.")
      .infer(infer_convolution)
      .grad("input(weight) weight(input)", convolution_grad)
      .autocast(Autocast::kLow)
      .sbp(sbp_convolution)
      .order(ResultOrder::kChannelsLast, 0b011)
      .cost(convolution_cost)
      .expose(kFunction);
  using T = ConvolutionThenAttrs;
  r.op("convolution_then(Tensor input, Tensor weight, Tensor? bias, Tensor? shift, Tensor? scale, Tensor? "
       "residual, int[] stride, int[] padding, int[] dilation, int groups, bool relu) -> Tensor",
       &T::stride, &T::padding, &T::dilation, &T::groups, &T::relu)
      .doc("A plain convolution y, and relu(shift + y * scale + residual), of which each may be left out.")
      .infer(infer_convolution_then)
      .no_grad("passes make it, after gradients are recorded")
      .sbp(sbp::broadcast_only)
      .order(ResultOrder::kChannelsLast, 0b011)
      .cost(convolution_then_cost);
  r.op("convolution_weight(Tensor grad, Tensor input, int[] weight_size, int[] stride, int[] padding, int[] "
       "dilation, "
       "int groups) -> Tensor",
       &W::weight_size, &W::stride, &W::padding, &W::dilation, &W::groups)
      .doc("The gradient of a plain convolution with respect to its weight.")
      .infer(infer_convolution_weight)
      .grad("grad(input) input(grad)", convolution_weight_grad)
      .sbp(sbp_convolution_weight)
      .order(ResultOrder::kChannelsLast, 0b11)
      .localize(holds_output_sizes<&W::weight_size>)
      .cost(convolution_weight_cost);
}

}  // namespace tw::ops
