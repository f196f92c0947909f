// Each group of a sample is one contiguous row: read once from memory, then from the cache. Floor: as
// layer_norm. The gradients of weight and bias are summed per sample, then over samples in order.
#include <algorithm>

#include "device/cpu/dense.h"
#include "device/cpu/parallel.h"
#include "device/cpu/row_sum.h"
#include "ops/normalisation/channel_norm_formula.h"
#include "ops/normalisation/normalisation.h"

namespace tw::ops {

using namespace device;

namespace {

struct Groups {
  int64_t samples, channels, groups, length, per_group;
  Groups(const Operand& x, int64_t groups)
      : samples(x.size(0)), channels(x.size(1)), groups(groups), length(1) {
    for (int64_t d = 2; d < x.rank(); d++) length *= x.size(d);
    per_group = channels / groups;
  }
  int64_t row() const { return per_group * length; }
  int64_t grain(int64_t bytes) const {
    return std::max<int64_t>(1, (192 << 10) / std::max<int64_t>(1, row() * bytes));
  }
};

template <class C>
struct Affine {
  const C *weight, *bias;  // of the group's channels; null: 1 and 0
};

template <class T>
TW_CLONES __attribute__((flatten)) void forward_group(int64_t channels, int64_t length, const stored_t<T>* x,
                                                      Affine<compute_t<T>> affine, double eps, stored_t<T>* y,
                                                      compute_t<T>* mean_out, compute_t<T>* rstd_out) {
  using C = compute_t<T>;
  int64_t n = channels * length;
  auto [mean, rstd] = row_stats<C>(n, eps, [x](int64_t i) { return load<T>(x[i]); });
  for (int64_t c = 0; c < channels; c++) {
    C scale = affine.weight ? rstd * affine.weight[c] : rstd, shift = affine.bias ? affine.bias[c] : C(0);
#pragma GCC ivdep
    for (int64_t i = c * length; i < (c + 1) * length; i++)
      y[i] = store<T>(normalised(load<T>(x[i]), mean, scale, shift));
  }
  *mean_out = mean;
  *rstd_out = rstd;
}

void group_norm_kernel(KernelContext& k) {
  const auto& a = k.attrs<GroupNormAttrs>();
  Groups shape(k.in(0), a.num_groups);
  dispatch_float(k.in(0).dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    Dense<T> x(k.in(0));
    Dense<C> weight(k.in(1)), bias(k.in(2));
    parallel_for(
        0, shape.samples * shape.groups, shape.grain(2 * sizeof(T)), [&](int64_t first, int64_t last) {
          for (int64_t row = first; row < last; row++) {
            int64_t channel = row % shape.groups * shape.per_group, at = row * shape.row();
            Affine<C> affine{weight.data() ? weight.data() + channel : nullptr,
                             bias.data() ? bias.data() + channel : nullptr};
            forward_group<T>(shape.per_group, shape.length, x.data() + at, affine, a.eps,
                             k.out(0).as<stored_t<T>>() + at, k.out(1).as<C>() + row, k.out(2).as<C>() + row);
          }
        });
  });
}

template <class C>
struct BackwardGroup {
  const C* weight;  // of the group's channels; null: 1
  C mean, rstd;
  double *sums, *products;  // of each channel: Σ g, Σ g x̂
};

template <class T>
TW_CLONES __attribute__((flatten)) void backward_group(int64_t channels, int64_t length, const stored_t<T>* g,
                                                       const stored_t<T>* x,
                                                       const BackwardGroup<compute_t<T>>& group,
                                                       stored_t<T>* dx) {
  using C = compute_t<T>;
  const BackwardGroup<C> p = group;
  C mean = p.mean, rstd = p.rstd;
  double sum = 0, product = 0;
  for (int64_t c = 0; c < channels; c++) {
    const stored_t<T>*gc = g + c * length, *xc = x + c * length;
    p.sums[c] = long_sum<C>(length, [gc](int64_t i) { return load<T>(gc[i]); });
    p.products[c] =
        long_sum<C>(length, [=](int64_t i) { return load<T>(gc[i]) * ((load<T>(xc[i]) - mean) * rstd); });
    double w = p.weight ? static_cast<double>(p.weight[c]) : 1;
    sum += w * p.sums[c];
    product += w * p.products[c];
  }
  if (!dx) return;
  double count = static_cast<double>(channels * length);
  for (int64_t c = 0; c < channels; c++) {
    double w = p.weight ? static_cast<double>(p.weight[c]) : 1;
    auto slope = NormSlope<C>::of(w, sum, product, static_cast<double>(rstd), count);
#pragma GCC ivdep
    for (int64_t i = c * length; i < (c + 1) * length; i++)
      dx[i] = store<T>(norm_gradient(load<T>(g[i]), load<T>(x[i]), mean, slope.p, slope.q, slope.rest));
  }
}

template <class C>
void add_samples(const double* parts, const Groups& shape, const Operand& out) {
  ScratchArray<double> total(shape.channels);
  std::fill_n(total.data(), shape.channels, 0.0);
  for (int64_t s = 0; s < shape.samples; s++)
    for (int64_t c = 0; c < shape.channels; c++) total[c] += parts[s * shape.channels + c];
  Dims sizes{shape.channels}, strides{1};
  copy_cast(out, {total.data(), &sizes, &strides, DType::kFloat64});
}

void group_norm_backward_kernel(KernelContext& k) {
  const auto& a = k.attrs<GroupNormBackwardAttrs>();
  Groups shape(k.in(1), a.num_groups);
  dispatch_float(k.in(1).dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    Dense<T> g(k.in(0)), x(k.in(1));
    Dense<C> weight(k.in(2)), mean(k.in(3)), rstd(k.in(4));
    ScratchArray<double> sums(shape.samples * shape.channels), products(shape.samples * shape.channels);
    auto* dx = a.wanted & kNormInput ? k.out(0).as<stored_t<T>>() : nullptr;
    parallel_for(0, shape.samples * shape.groups, shape.grain(3 * sizeof(T)),
                 [&](int64_t first, int64_t last) {
                   for (int64_t row = first; row < last; row++) {
                     int64_t channel = row % shape.groups * shape.per_group, at = row * shape.row();
                     int64_t slot = row / shape.groups * shape.channels + channel;
                     BackwardGroup<C> p{weight.data() ? weight.data() + channel : nullptr, mean[row],
                                        rstd[row], sums.data() + slot, products.data() + slot};
                     backward_group<T>(shape.per_group, shape.length, g.data() + at, x.data() + at, p,
                                       dx ? dx + at : nullptr);
                   }
                 });
    if (a.wanted & kNormWeight) add_samples<C>(products.data(), shape, k.out(1));
    if (a.wanted & kNormBias) add_samples<C>(sums.data(), shape, k.out(2));
  });
}

}  // namespace

void kernels_group_norm(KernelTable& table) {
  table.add("group_norm", group_norm_kernel);
  table.add("group_norm_backward", group_norm_backward_kernel);
}

}  // namespace tw::ops
