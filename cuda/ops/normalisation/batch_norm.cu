// batch_norm_train and its gradient, row-major or channels-last as x lies. Forward reads x for the statistics
// of its channels, in double about one of their elements, then x again and writes y. Backward reads g and x
// for two sums a channel, then g and x again and writes dx. Some 10 flops an element. Floor: x twice and y,
// or g and x twice and dx, over the bandwidth.
//
// Per element: 12 bytes and 10 operations (batch_norm, float32).
#include "cuda/common/dense.h"
#include "cuda/common/laid.h"
#include "cuda/common/pointwise.h"
#include "cuda/ops/normalisation/channel_norm.h"
#include "cuda/ops/normalisation/channel_sums.h"
#include "ops/normalisation/normalisation.h"

namespace tw::cuda {

using device::KernelContext;
using device::Operand;

namespace {

// x without gaps, channels-last where its strides say so.
ChannelShape shape_of(const Operand& x) {
  ChannelShape shape{x.size(0), x.size(1), 1};
  for (int64_t d = 2; d < x.rank(); d++) (lies_channels_last(x) ? shape.outer : shape.inner) *= x.size(d);
  return shape;
}

// An array of one number a channel, as an operand that broadcasts to x.
struct OfChannels {
  Dims strides;
  Operand operand;

  template <class C>
  OfChannels(const Operand& x, C* values) : strides(x.rank(), 0) {
    strides[1] = 1;
    operand = {values, x.sizes, &strides, dtype_of<C>};
  }
};

template <class T>
struct BatchStatistics {
  using C = compute_t<T>;
  using Value = double;
  const stored_t<T>* x;
  int64_t inner;
  double count, eps;
  const C *weight, *bias;  // null: 1 and 0
  C *mean, *rstd, *unbiased, *scale, *shift;

  TW_DEVICE Deviations of_channel(int64_t c) const {
    return {count > 0 ? static_cast<double>(load<T>(x[c * inner])) : 0};
  }
  TW_DEVICE void finish(int64_t c, double first, double second) const {
    double squares = Deviations::squares(first, second, count);
    C r = static_cast<C>(ops::norm_rstd(squares, count, eps));
    mean[c] = static_cast<C>(of_channel(c).about + first / count);
    rstd[c] = r;
    unbiased[c] = static_cast<C>(ops::unbiased_variance(squares, count));
    scale[c] = weight ? r * weight[c] : r;
    shift[c] = bias ? bias[c] : C(0);
  }
};

void train_kernel(KernelContext& k) {
  const Operand &given = k.in(0), &out = k.out(0);
  ChannelShape shape = shape_of(given);
  double eps = k.attrs<ops::BatchNormAttrs>().eps;
  dispatch_float(given.dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    Laid x(given, given.dtype, lies_channels_last(given), Laid::kInput, k.op);
    Dense<C> weight(k.in(1), k.op), bias(k.in(2), k.op);
    DeviceScratch memory(static_cast<size_t>(2 * shape.channels) * sizeof(C));
    C *scale = memory.as<C>(), *shift = scale + shape.channels, *mean = k.out(1).as<C>();
    auto* data = x.as<const stored_t<T>>();
    channel_sums<T, 1>(
        {data}, shape, k.op,
        BatchStatistics<T>{data, shape.inner, static_cast<double>(shape.elements()), eps, weight.data(),
                           bias.data(), mean, k.out(2).as<C>(), k.out(3).as<C>(), scale, shift});
    Operand dense = x.operand();
    OfChannels means(given, mean), scales(given, scale), shifts(given, shift);
    pointwise_over(Types<T>{}, Types<T, C, C, C>{}, {&out},
                   {&dense, &means.operand, &scales.operand, &shifts.operand}, k.op, Normalise());
  });
}

template <class T>
struct BatchSlopes {
  using C = compute_t<T>;
  using Value = C;
  double count;
  const C *weight, *mean, *rstd;
  C *p, *q, *rest, *dw, *db;

  TW_DEVICE GradientSums<C> of_channel(int64_t c) const { return {mean[c]}; }
  TW_DEVICE void finish(int64_t c, double sum, double product) const {
    double r = static_cast<double>(rstd[c]), w = weight ? static_cast<double>(weight[c]) : 1;
    auto slope = ops::NormSlope<C>::of(w, w * sum, w * product * r, r, count);
    p[c] = slope.p;
    q[c] = slope.q;
    rest[c] = slope.rest;
    dw[c] = static_cast<C>(product * r);
    db[c] = static_cast<C>(sum);
  }
};

void backward_kernel(KernelContext& k) {
  int64_t wanted = k.attrs<ops::BatchNormBackwardAttrs>().wanted;
  const Operand& given = k.in(1);
  ChannelShape shape = shape_of(given);
  dispatch_float(given.dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    auto laid = [&](int i) {
      return Laid(k.in(i), given.dtype, lies_channels_last(given), Laid::kInput, k.op);
    };
    Laid g = laid(0), x = laid(1);
    Dense<C> weight(k.in(2), k.op), mean(k.in(3), k.op), rstd(k.in(4), k.op);
    DeviceScratch memory(static_cast<size_t>(5 * shape.channels) * sizeof(C));
    auto array = [&](int i) { return memory.as<C>() + i * shape.channels; };
    channel_sums<T, 2>({g.as<const stored_t<T>>(), x.as<const stored_t<T>>()}, shape, k.op,
                       BatchSlopes<T>{static_cast<double>(shape.elements()), weight.data(), mean.data(),
                                      rstd.data(), array(0), array(1), array(2), array(3), array(4)});
    if (wanted & ops::kNormInput) {
      Operand gs = g.operand(), xs = x.operand();
      OfChannels means(given, mean.data()), p(given, array(0)), q(given, array(1)), rest(given, array(2));
      pointwise_over(Types<T>{}, Types<T, T, C, C, C, C>{}, {&k.out(0)},
                     {&gs, &xs, &means.operand, &p.operand, &q.operand, &rest.operand}, k.op, NormGradient());
    }
    Dims sizes{shape.channels}, strides{1};
    for (int i = 1; i < 3; i++)
      if (wanted & (i == 1 ? ops::kNormWeight : ops::kNormBias))
        copy_cast(k.out(i), {array(2 + i), &sizes, &strides, dtype_of<C>}, k.op);
  });
}

}  // namespace

void kernels_batch_norm(device::KernelTable& table) {
  table.add("batch_norm_train", train_kernel);
  table.add("batch_norm_backward", backward_kernel);
}

}  // namespace tw::cuda
