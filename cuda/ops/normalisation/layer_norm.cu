// layer_norm, rms_norm and their gradient. Forward reads x once (rows beyond 8192 elements three times, from
// the cache where they fit it) and writes y; backward reads g and x for dx, and once more for the gradients
// of weight and bias. Some 10 flops an element. Floor: x and y, or g, x and dx, over the bandwidth.
//
// Per element: 8 bytes and 10 operations (layer_norm, float32).
#include <limits>

#include "cuda/common/dense.h"
#include "cuda/common/row_values.h"
#include "cuda/ops/normalisation/row_statistics.h"
#include "ops/normalisation/normalisation.h"

namespace tw::cuda {

using device::KernelContext;
using device::Operand;

namespace {

template <class T>
struct NormRows {
  int64_t rows, n;
  double eps;
  const stored_t<T>* x;
  const compute_t<T>*weight, *bias;  // null: 1 and 0
  stored_t<T>* y;
  compute_t<T>*mean, *rstd;
};

template <class T, bool kCentre, int kGroup, int kPack, bool kKept>
__global__ void __launch_bounds__(kReduceThreads) norm_kernel(NormRows<T> p) {
  using C = compute_t<T>;
  int64_t row = row_of_thread<kGroup>();
  bool there = row < p.rows;
  RowValues<T, kGroup, kPack, kKept> x(p.x + (there ? row : 0) * p.n, there ? p.n : 0,
                                       thread_of_row<kGroup>());
  auto [mean, rstd] = row_statistics<kCentre, kGroup>(x, p.n, static_cast<C>(p.eps));
  x.template write<T>(p.y + (there ? row : 0) * p.n, [&](int64_t i, C value) {
    C scaled = (value - mean) * rstd;
    if (p.weight) scaled *= p.weight[i];
    return p.bias ? scaled + p.bias[i] : scaled;
  });
  if (!there || thread_of_row<kGroup>() != 0) return;
  if constexpr (kCentre) p.mean[row] = mean;
  p.rstd[row] = rstd;
}

template <class T, bool kCentre>
void forward(KernelContext& k, double eps, int64_t n) {
  using C = compute_t<T>;
  const Operand& rstd = k.out(kCentre ? 2 : 1);
  if (k.out(0).count() == 0) return;
  Dense<T> x(k.in(0), k.op);
  Dense<C> weight(k.in(1), k.op), bias(kCentre ? k.in(2) : Operand(), k.op);
  NormRows<T> p{rstd.count(),
                n,
                eps,
                x.data(),
                weight.data(),
                bias.data(),
                k.out(0).as<stored_t<T>>(),
                kCentre ? k.out(1).as<C>() : nullptr,
                rstd.as<C>()};
  dispatch_row(n, may_pack(n, {p.x, p.y}), [&]<int kGroup, int kPack, bool kKept>() {
    launch(k.op, norm_kernel<T, kCentre, kGroup, kPack, kKept>, row_grid<kGroup>(p.rows), p);
  });
}

void layer_norm_kernel(KernelContext& k) {
  const auto& a = k.attrs<ops::LayerNormAttrs>();
  dispatch_float(k.out().dtype, k.op,
                 [&]<class T>() { forward<T, true>(k, a.eps, numel(a.normalized_shape)); });
}

double epsilon_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return 0x1p-10;
    case DType::kBFloat16:
      return 0x1p-7;
    case DType::kFloat32:
      return std::numeric_limits<float>::epsilon();
    default:
      return std::numeric_limits<double>::epsilon();
  }
}

void rms_norm_kernel(KernelContext& k) {
  const auto& a = k.attrs<ops::RmsNormAttrs>();
  double eps = a.eps.value_or(epsilon_of(k.in(0).dtype));
  dispatch_float(k.out().dtype, k.op,
                 [&]<class T>() { forward<T, false>(k, eps, numel(a.normalized_shape)); });
}

template <class T>
struct BackwardRows {
  int64_t rows, n;
  const stored_t<T>*g, *x;
  const compute_t<T>*weight, *mean, *rstd;  // weight, mean: null: 1, and no centring
  stored_t<T>* dx;
};

template <class T, int kGroup, int kPack, bool kKept>
__global__ void __launch_bounds__(kReduceThreads) norm_backward_kernel(BackwardRows<T> p) {
  using C = compute_t<T>;
  int64_t row = row_of_thread<kGroup>(), at = row < p.rows ? row : 0, n = row < p.rows ? p.n : 0;
  C mean = p.mean ? p.mean[at] : C(0), rstd = p.rstd[at], sum = 0, product = 0;
  RowValues<T, kGroup, kPack, kKept> x(p.x + at * p.n, n, thread_of_row<kGroup>());
  RowValues<T, kGroup, kPack, kKept> g(p.g + at * p.n, n, thread_of_row<kGroup>());
  auto weighted = [&](int64_t i, C value) { return p.weight ? value * p.weight[i] : value; };
  g.each([&](int64_t i, C value) { sum += weighted(i, value); });
  // Both walk alike, so that step for step they are at the same elements.
  const stored_t<T>* x_row = x.row;
  g.each([&](int64_t i, C value) { product += weighted(i, value) * (load<T>(x_row[i]) - mean) * rstd; });
  C c1 = p.mean ? group_reduce<kGroup>(sum, C(0), Plus()) / static_cast<C>(p.n) : C(0);
  C c2 = group_reduce<kGroup>(product, C(0), Plus()) / static_cast<C>(p.n);
  const stored_t<T>* g_row = g.row;
  x.template write<T>(p.dx + at * p.n, [&](int64_t i, C value) {
    return rstd * (weighted(i, load<T>(g_row[i])) - c1 - (value - mean) * rstd * c2);
  });
}

// Columns: a warp has 32 of them side by side, the warps of a block share the rows of a slice, whose sums of
// g x̂ and g are parts[slice][0 or 1][column].
template <class T>
__global__ void __launch_bounds__(kReduceThreads)
    norm_columns_kernel(BackwardRows<T> p, compute_t<T>* parts, int64_t rows_of_slice) {
  using C = compute_t<T>;
  TW_SHARED(C, sums, 2 * kReduceThreads);
  int64_t groups = (p.n + kLanes - 1) / kLanes, column = blockIdx.x % groups * kLanes + lane_index();
  int64_t slice = blockIdx.x / groups, first = slice * rows_of_slice;
  int64_t last = first + rows_of_slice < p.rows ? first + rows_of_slice : p.rows;
  C dw = 0, db = 0;
  for (int64_t row = first + warp_index(); row < last && column < p.n; row += kReduceWarps) {
    C g = load<T>(p.g[row * p.n + column]), x = load<T>(p.x[row * p.n + column]);
    dw += g * (x - (p.mean ? p.mean[row] : C(0))) * p.rstd[row];
    db += g;
  }
  sums[threadIdx.x] = dw;
  sums[kReduceThreads + threadIdx.x] = db;
  __syncthreads();
  if (warp_index() != 0 || column >= p.n) return;
  for (int warp = 1; warp < kReduceWarps; warp++) {
    dw += sums[warp * kLanes + lane_index()];
    db += sums[kReduceThreads + warp * kLanes + lane_index()];
  }
  parts[(slice * 2) * p.n + column] = dw;
  parts[(slice * 2 + 1) * p.n + column] = db;
}

template <class C>
struct SumOf {
  TW_DEVICE C none() const { return C(0); }
  TW_DEVICE C map(C x) const { return x; }
  TW_DEVICE C combine(C a, C b) const { return a + b; }
  TW_DEVICE C finish(C total) const { return total; }
};

// The gradients of weight and bias: the slices' parts, added in order.
template <class T>
void columns(KernelContext& k, const BackwardRows<T>& p, int64_t wanted) {
  using C = compute_t<T>;
  constexpr int64_t kRows = 256;
  int64_t slices = (p.rows + kRows - 1) / kRows, groups = (p.n + kLanes - 1) / kLanes;
  DeviceScratch parts(static_cast<size_t>(slices * 2 * p.n) * sizeof(C));
  launch(k.op, norm_columns_kernel<T>, {static_cast<unsigned>(slices * groups), kReduceThreads}, p,
         parts.as<C>(), kRows);
  for (int which = 0; which < 2; which++) {
    if (!(wanted & (which == 0 ? ops::kNormWeight : ops::kNormBias))) continue;
    Dims sizes{slices, p.n}, strides{2 * p.n, 1}, flat{p.n}, step{1};
    Operand from{parts.as<C>() + which * p.n, &sizes, &strides, dtype_of<C>};
    const Operand& given = k.out(1 + which);
    Operand to{given.data, &flat, &step, given.dtype};
    reduce<C, C>(from, to, 1, k.op, SumOf<C>());
  }
}

template <class T>
void backward(KernelContext& k) {
  using C = compute_t<T>;
  const auto& a = k.attrs<ops::LayerNormBackwardAttrs>();
  int64_t n = numel(a.normalized_shape), rows = k.in(4).count();
  if (n == 0) return;
  Dense<T> g(k.in(0), k.op), x(k.in(1), k.op);
  Dense<C> weight(k.in(2), k.op), mean(k.in(3), k.op), rstd(k.in(4), k.op);
  bool wants_dx = a.wanted & ops::kNormInput;
  BackwardRows<T> p{rows,          n,           g.data(),    x.data(),
                    weight.data(), mean.data(), rstd.data(), wants_dx ? k.out(0).as<stored_t<T>>() : nullptr};
  if (wants_dx)
    dispatch_row(n, may_pack(n, {p.g, p.x, p.dx}), [&]<int kGroup, int kPack, bool kKept>() {
      launch(k.op, norm_backward_kernel<T, kGroup, kPack, kKept>, row_grid<kGroup>(rows), p);
    });
  if (a.wanted & (ops::kNormWeight | ops::kNormBias)) columns<T>(k, p, a.wanted);
}

void layer_norm_backward_kernel(KernelContext& k) {
  dispatch_float(k.in(1).dtype, k.op, [&]<class T>() { backward<T>(k); });
}

}  // namespace

void kernels_layer_norm(device::KernelTable& table) {
  table.add("layer_norm", layer_norm_kernel);
  table.add("rms_norm", rms_norm_kernel);
  table.add("layer_norm_backward", layer_norm_backward_kernel);
}

}  // namespace tw::cuda
