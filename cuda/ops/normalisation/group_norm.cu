// group_norm and its gradient; a group of a sample is a row of memory. Forward reads rows of up to 8192
// elements once into registers and writes y; longer ones it reads for their sums, in double about one of
// their elements, and again. Backward reads g and x for two sums of each channel of each sample, then g and x
// again and writes dx. Some 10 flops an element. Floor: x (twice where rows are long) and y, or g and x twice
// and dx, over the bandwidth.
//
// Per element: 8 bytes and 10 operations (group_norm, float32).
#include "cuda/common/dense.h"
#include "cuda/common/pointwise.h"
#include "cuda/ops/normalisation/channel_norm.h"
#include "cuda/ops/normalisation/channel_sums.h"
#include "cuda/ops/normalisation/row_statistics.h"
#include "ops/normalisation/normalisation.h"

namespace tw::cuda {

using device::KernelContext;
using device::Operand;

namespace {

constexpr int kThreads = block_threads(256);

struct Groups {
  int64_t samples, groups, per_group, length;

  Groups(const Operand& x, int64_t groups)
      : samples(x.size(0)), groups(groups), per_group(x.size(1) / groups), length(1) {
    for (int64_t d = 2; d < x.rank(); d++) length *= x.size(d);
  }
  TW_BOTH int64_t channels() const { return groups * per_group; }
  TW_BOTH int64_t rows() const { return samples * groups; }
  TW_BOTH int64_t row() const { return per_group * length; }
  // Channels of each sample, as channel_sums has them.
  ChannelShape shape() const { return {1, samples * channels(), length}; }
  unsigned blocks(int64_t tasks) const { return static_cast<unsigned>((tasks + kThreads - 1) / kThreads); }
};

template <class T>
struct GroupRows {
  Groups shape;
  Divisor by_length;
  double eps;
  const stored_t<T>* x;
  const compute_t<T>*weight, *bias;  // null: 1 and 0
  stored_t<T>* y;
  compute_t<T>*mean, *rstd;
};

template <class T, int kGroup, int kPack, bool kKept>
__global__ void __launch_bounds__(kReduceThreads) group_rows_kernel(GroupRows<T> p) {
  using C = compute_t<T>;
  int64_t row = row_of_thread<kGroup>(), n = p.shape.row();
  bool there = row < p.shape.rows();
  RowValues<T, kGroup, kPack, kKept> x(p.x + (there ? row : 0) * n, there ? n : 0, thread_of_row<kGroup>());
  auto [mean, rstd] = row_statistics<true, kGroup>(x, n, static_cast<C>(p.eps));
  int64_t first = row % p.shape.groups * p.shape.per_group;
  x.template write<T>(p.y + (there ? row : 0) * n, [&, mean = mean, rstd = rstd](int64_t i, C value) {
    int64_t channel = first + p.by_length.quotient(static_cast<uint32_t>(i));
    return ops::normalised(value, mean, p.weight ? rstd * p.weight[channel] : rstd,
                           p.bias ? p.bias[channel] : C(0));
  });
  if (!there || thread_of_row<kGroup>() != 0) return;
  p.mean[row] = mean;
  p.rstd[row] = rstd;
}

// Numbers of each group, or of each channel of each sample, as operands that broadcast to x seen as [samples,
// groups, channels of a group, length].
class Grouped {
 public:
  explicit Grouped(const Groups& shape)
      : sizes_{shape.samples, shape.groups, shape.per_group, shape.length},
        dense_(contiguous_strides(sizes_)),
        of_channels_{shape.channels(), shape.per_group, 1, 0},
        of_groups_{shape.groups, 1, 0, 0} {}
  Operand elements(const void* data, DType dtype) const { return make(data, dense_, dtype); }
  template <class C>
  Operand of_channels(C* values) const {
    return make(values, of_channels_, dtype_of<C>);
  }
  template <class C>
  Operand of_groups(C* values) const {
    return make(values, of_groups_, dtype_of<C>);
  }

 private:
  Operand make(const void* data, const Dims& strides, DType dtype) const {
    return {const_cast<void*>(data), &sizes_, &strides, dtype};
  }
  Dims sizes_, dense_, of_channels_, of_groups_;
};

// Σ d and Σ d² of each channel, d being about the first element of its group.
template <class T>
struct DeviationSums {
  using Value = double;
  const stored_t<T>* x;
  int64_t per_group, row;
  double* sums;  // [samples · channels, 2]

  TW_DEVICE Deviations of_channel(int64_t c) const {
    return {row > 0 ? static_cast<double>(load<T>(x[c / per_group * row])) : 0};
  }
  TW_DEVICE void finish(int64_t c, double first, double second) const {
    sums[2 * c] = first;
    sums[2 * c + 1] = second;
  }
};

// A thread a group. `scale` and `shift` are of each channel of each sample.
template <class T>
__global__ void __launch_bounds__(kThreads)
    group_statistics_kernel(GroupRows<T> p, const double* sums, compute_t<T>* scale, compute_t<T>* shift) {
  using C = compute_t<T>;
  int64_t group = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x, per_group = p.shape.per_group;
  if (group >= p.shape.rows()) return;
  double first = 0, second = 0, count = static_cast<double>(p.shape.row());
  for (int64_t c = group * per_group; c < (group + 1) * per_group; c++) {
    first += sums[2 * c];
    second += sums[2 * c + 1];
  }
  C rstd = static_cast<C>(ops::norm_rstd(Deviations::squares(first, second, count), count, p.eps));
  p.mean[group] = static_cast<C>(static_cast<double>(load<T>(p.x[group * p.shape.row()])) + first / count);
  p.rstd[group] = rstd;
  for (int64_t i = 0; i < per_group; i++) {
    int64_t channel = group % p.shape.groups * per_group + i;
    scale[group * per_group + i] = p.weight ? rstd * p.weight[channel] : rstd;
    shift[group * per_group + i] = p.bias ? p.bias[channel] : C(0);
  }
}

template <class T>
void long_rows(KernelContext& k, const GroupRows<T>& p) {
  using C = compute_t<T>;
  int64_t count = p.shape.samples * p.shape.channels();
  DeviceScratch memory(static_cast<size_t>(2 * count) * (sizeof(double) + sizeof(C)));
  auto* sums = memory.as<double>();
  C *scale = reinterpret_cast<C*>(sums + 2 * count), *shift = scale + count;
  channel_sums<T, 1>({p.x}, p.shape.shape(), k.op,
                     DeviationSums<T>{p.x, p.shape.per_group, p.shape.row(), sums});
  launch(k.op, group_statistics_kernel<T>, {p.shape.blocks(p.shape.rows()), kThreads}, p, sums, scale, shift);
  Grouped grouped(p.shape);
  Operand out = grouped.elements(p.y, dtype_of<T>), x = grouped.elements(p.x, dtype_of<T>),
          mean = grouped.of_groups(p.mean), scales = grouped.of_channels(scale),
          shifts = grouped.of_channels(shift);
  pointwise_over(Types<T>{}, Types<T, C, C, C>{}, {&out}, {&x, &mean, &scales, &shifts}, k.op, Normalise());
}

void group_norm_kernel(KernelContext& k) {
  const auto& a = k.attrs<ops::GroupNormAttrs>();
  Groups shape(k.in(0), a.num_groups);
  dispatch_float(k.in(0).dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    Dense<T> x(k.in(0), k.op);
    Dense<C> weight(k.in(1), k.op), bias(k.in(2), k.op);
    GroupRows<T> p{shape,
                   Divisor(static_cast<uint32_t>(std::max<int64_t>(shape.length, 1))),
                   a.eps,
                   reinterpret_cast<const stored_t<T>*>(x.data()),
                   weight.data(),
                   bias.data(),
                   k.out(0).as<stored_t<T>>(),
                   k.out(1).as<C>(),
                   k.out(2).as<C>()};
    if (shape.row() > int64_t{kReduceThreads} * kRowKept) return long_rows<T>(k, p);
    dispatch_row(shape.row(), may_pack(shape.row(), {p.x, p.y}), [&]<int kGroup, int kPack, bool kKept>() {
      launch(k.op, group_rows_kernel<T, kGroup, kPack, kKept>, row_grid<kGroup>(shape.rows()), p);
    });
  });
}

// Σ g and Σ g x̂ of each channel of each sample.
template <class T>
struct GroupGradientSums {
  using C = compute_t<T>;
  using Value = C;
  const C *mean, *rstd;
  int64_t per_group;
  double* sums;  // [samples · channels, 2]

  TW_DEVICE GradientSums<C> of_channel(int64_t c) const { return {mean[c / per_group]}; }
  TW_DEVICE void finish(int64_t c, double first, double second) const {
    sums[2 * c] = first;
    sums[2 * c + 1] = second * static_cast<double>(rstd[c / per_group]);
  }
};

// A thread a group: p of each channel of each sample, q and the rest of each group.
template <class C>
__global__ void __launch_bounds__(kThreads)
    group_slopes_kernel(Groups shape, const double* sums, const C* weight, const C* rstd, C* p, C* q,
                        C* rest) {
  int64_t group = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (group >= shape.rows()) return;
  int64_t channel = group % shape.groups * shape.per_group, at = group * shape.per_group;
  auto weight_of = [&](int64_t i) { return weight ? static_cast<double>(weight[channel + i]) : 1.0; };
  double sum = 0, product = 0;
  for (int64_t i = 0; i < shape.per_group; i++) {
    sum += weight_of(i) * sums[2 * (at + i)];
    product += weight_of(i) * sums[2 * (at + i) + 1];
  }
  for (int64_t i = 0; i < shape.per_group; i++) {
    auto slope = ops::NormSlope<C>::of(weight_of(i), sum, product, static_cast<double>(rstd[group]),
                                       static_cast<double>(shape.row()));
    p[at + i] = slope.p;
    q[group] = slope.q;
    rest[group] = slope.rest;
  }
}

// A thread a channel: the gradients of weight and bias.
template <class C>
__global__ void __launch_bounds__(kThreads)
    over_samples_kernel(Groups shape, const double* sums, C* dw, C* db) {
  int64_t channel = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x, channels = shape.channels();
  if (channel >= channels) return;
  double sum = 0, product = 0;
  for (int64_t s = 0; s < shape.samples; s++) {
    sum += sums[2 * (s * channels + channel)];
    product += sums[2 * (s * channels + channel) + 1];
  }
  dw[channel] = static_cast<C>(product);
  db[channel] = static_cast<C>(sum);
}

template <class T>
void backward(KernelContext& k, const Groups& shape, int64_t wanted) {
  using C = compute_t<T>;
  Dense<T> g(k.in(0), k.op), x(k.in(1), k.op);
  Dense<C> weight(k.in(2), k.op), mean(k.in(3), k.op), rstd(k.in(4), k.op);
  int64_t channels = shape.channels(), count = shape.samples * channels, rows = shape.rows();
  DeviceScratch sums(static_cast<size_t>(2 * count) * sizeof(double));
  DeviceScratch terms(static_cast<size_t>(count + 2 * rows + 2 * channels) * sizeof(C));
  C *p = terms.as<C>(), *q = p + count, *rest = q + rows, *dw = rest + rows, *db = dw + channels;
  channel_sums<T, 2>(
      {reinterpret_cast<const stored_t<T>*>(g.data()), reinterpret_cast<const stored_t<T>*>(x.data())},
      shape.shape(), k.op,
      GroupGradientSums<T>{mean.data(), rstd.data(), shape.per_group, sums.as<double>()});
  if (wanted & ops::kNormInput) {
    launch(k.op, group_slopes_kernel<C>, {shape.blocks(rows), kThreads}, shape, sums.as<const double>(),
           weight.data(), rstd.data(), p, q, rest);
    Grouped grouped(shape);
    Operand dx = grouped.elements(k.out(0).data, dtype_of<T>), gs = grouped.elements(g.data(), dtype_of<T>),
            xs = grouped.elements(x.data(), dtype_of<T>), means = grouped.of_groups(mean.data()),
            ps = grouped.of_channels(p), qs = grouped.of_groups(q), rests = grouped.of_groups(rest);
    pointwise_over(Types<T>{}, Types<T, T, C, C, C, C>{}, {&dx}, {&gs, &xs, &means, &ps, &qs, &rests}, k.op,
                   NormGradient());
  }
  launch(k.op, over_samples_kernel<C>, {shape.blocks(channels), kThreads}, shape, sums.as<const double>(), dw,
         db);
  Dims sizes{channels}, strides{1};
  if (wanted & ops::kNormWeight) copy_cast(k.out(1), {dw, &sizes, &strides, dtype_of<C>}, k.op);
  if (wanted & ops::kNormBias) copy_cast(k.out(2), {db, &sizes, &strides, dtype_of<C>}, k.op);
}

void group_norm_backward_kernel(KernelContext& k) {
  const auto& a = k.attrs<ops::GroupNormBackwardAttrs>();
  Groups shape(k.in(1), a.num_groups);
  dispatch_float(k.in(1).dtype, k.op, [&]<class T>() { backward<T>(k, shape, a.wanted); });
}

}  // namespace

void kernels_group_norm(device::KernelTable& table) {
  table.add("group_norm", group_norm_kernel);
  table.add("group_norm_backward", group_norm_backward_kernel);
}

}  // namespace tw::cuda
