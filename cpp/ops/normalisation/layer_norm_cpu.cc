// Forward reads x once and writes y; backward reads g and x once and writes dx. Floor: these bytes over the
// bandwidth. The gradients of weight and bias are summed in fixed blocks of rows, and the blocks in order, so
// they do not depend on the number of threads.
#include <algorithm>
#include <cmath>
#include <limits>

#include "device/cpu/dense.h"
#include "device/cpu/parallel.h"
#include "device/cpu/row_sum.h"
#include "ops/normalisation/normalisation.h"

namespace tw::ops {

using namespace device;

namespace {

constexpr int64_t kGrainBytes = 192 << 10;

int64_t row_grain(int64_t n, int64_t bytes) {
  return std::max<int64_t>(1, kGrainBytes / std::max<int64_t>(1, n * bytes));
}

template <class C>
ScratchArray<C> filled(int64_t n, C value) {
  ScratchArray<C> array(n);
  std::fill_n(array.data(), n, value);
  return array;
}

template <class C>
struct RowStats {
  C mean, rstd;
};

template <class T, bool kCentre>
TW_CLONES __attribute__((flatten)) RowStats<compute_t<T>> norm_row(int64_t n, const stored_t<T>* x,
                                                                   const compute_t<T>* w,
                                                                   const compute_t<T>* b, double eps,
                                                                   stored_t<T>* y) {
  using C = compute_t<T>;
  double count = static_cast<double>(n);
  C mean = kCentre ? C(long_sum<C>(n, [x](int64_t i) { return load<T>(x[i]); }) / count) : C(0);
  double squares = long_sum<C>(n, [x, mean](int64_t i) {
    C d = load<T>(x[i]) - mean;
    return d * d;
  });
  C rstd = C(1 / std::sqrt(squares / count + eps));
#pragma GCC ivdep
  for (int64_t i = 0; i < n; i++) {
    C scaled = (load<T>(x[i]) - mean) * rstd * w[i];
    y[i] = store<T>(kCentre ? scaled + b[i] : scaled);
  }
  return {mean, rstd};
}

template <class T, bool kCentre>
void forward(KernelContext& k, double eps, int64_t n) {
  using C = compute_t<T>;
  const Operand& rstd = k.out(kCentre ? 2 : 1);
  Dense<T> x(k.in(0));
  Dense<C> weight(k.in(1)), bias(kCentre ? k.in(2) : Operand());
  ScratchArray<C> ones = filled<C>(weight.data() ? 0 : n, 1), zeros = filled<C>(bias.data() ? 0 : n, 0);
  const C* w = weight.data() ? weight.data() : ones.data();
  const C* b = bias.data() ? bias.data() : zeros.data();
  parallel_for(0, rstd.count(), row_grain(n, 2 * sizeof(T)), [&](int64_t first, int64_t last) {
    for (int64_t row = first; row < last; row++) {
      auto stats =
          norm_row<T, kCentre>(n, x.data() + row * n, w, b, eps, k.out(0).as<stored_t<T>>() + row * n);
      if (kCentre) k.out(1).as<C>()[row] = stats.mean;
      rstd.as<C>()[row] = stats.rstd;
    }
  });
}

void layer_norm_kernel(KernelContext& k) {
  const auto& a = k.attrs<LayerNormAttrs>();
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
  const auto& a = k.attrs<RmsNormAttrs>();
  double eps = a.eps.value_or(epsilon_of(k.in(0).dtype));
  dispatch_float(k.out().dtype, k.op,
                 [&]<class T>() { forward<T, false>(k, eps, numel(a.normalized_shape)); });
}

template <class C>
struct BackwardRow {
  const C* w;
  C mean, rstd;
  C* dw;  // added to; null: not wanted
  C* db;
};

template <class T, bool kCentre>
TW_CLONES __attribute__((flatten)) void backward_row(int64_t n, const stored_t<T>* g, const stored_t<T>* x,
                                                     BackwardRow<compute_t<T>> p, stored_t<T>* dx) {
  using C = compute_t<T>;
  C mean = p.mean, rstd = p.rstd;
  if (dx) {
    const C* w = p.w;
    double count = static_cast<double>(n);
    C c1 = kCentre ? C(long_sum<C>(n, [g, w](int64_t i) { return load<T>(g[i]) * w[i]; }) / count) : C(0);
    C c2 =
        C(long_sum<C>(n, [=](int64_t i) { return load<T>(g[i]) * w[i] * (load<T>(x[i]) - mean); }) / count) *
        rstd;
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++) {
      C xhat = (load<T>(x[i]) - mean) * rstd;
      dx[i] = store<T>(rstd * (load<T>(g[i]) * w[i] - c1 - xhat * c2));
    }
  }
  if (p.dw) {
    C *dw = p.dw, *db = p.db;
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++) {
      dw[i] += load<T>(g[i]) * ((load<T>(x[i]) - mean) * rstd);
      db[i] += load<T>(g[i]);
    }
  }
}

template <class C>
void add_blocks(const C* parts, int64_t blocks, int64_t stride, int64_t n, const Operand& out) {
  ScratchArray<C> total(n);
  std::fill_n(total.data(), n, C(0));
  for (int64_t b = 0; b < blocks; b++)
    for (int64_t i = 0; i < n; i++) total[i] += parts[b * stride + i];
  Dims sizes{n}, strides{1}, out_strides{1};
  copy_cast({out.data, &sizes, &out_strides, out.dtype}, {total.data(), &sizes, &strides, dtype_of<C>});
}

template <class T, bool kCentre>
void backward(KernelContext& k) {
  using C = compute_t<T>;
  const auto& a = k.attrs<LayerNormBackwardAttrs>();
  int64_t n = numel(a.normalized_shape), rows = k.in(4).count();
  Dense<T> g(k.in(0)), x(k.in(1));
  Dense<C> weight(k.in(2)), mean(k.in(3)), rstd(k.in(4));
  ScratchArray<C> ones = filled<C>(weight.data() ? 0 : n, 1);
  const C* w = weight.data() ? weight.data() : ones.data();
  bool params = a.wanted & (kNormWeight | kNormBias);
  int64_t block = std::max<int64_t>(8, (rows + 63) / 64), blocks = (rows + block - 1) / block;
  ScratchArray<C> parts(params ? blocks * 2 * n : 0);
  auto* dx = a.wanted & kNormInput ? k.out(0).as<stored_t<T>>() : nullptr;
  parallel_for(0, blocks, row_grain(n * block, 3 * sizeof(T)), [&](int64_t first, int64_t last) {
    for (int64_t b = first; b < last; b++) {
      C* sums = params ? parts.data() + b * 2 * n : nullptr;
      if (params) std::fill_n(sums, 2 * n, C(0));
      for (int64_t row = b * block; row < std::min(rows, (b + 1) * block); row++) {
        BackwardRow<C> p{w, kCentre ? mean[row] : C(0), rstd[row], sums, sums + n};
        backward_row<T, kCentre>(n, g.data() + row * n, x.data() + row * n, p, dx ? dx + row * n : nullptr);
      }
    }
  });
  if (a.wanted & kNormWeight) add_blocks(parts.data(), blocks, 2 * n, n, k.out(1));
  if (a.wanted & kNormBias) add_blocks(parts.data() + n, blocks, 2 * n, n, k.out(2));
}

void layer_norm_backward_kernel(KernelContext& k) {
  dispatch_float(k.in(1).dtype, k.op,
                 [&]<class T>() { k.in(3).present() ? backward<T, true>(k) : backward<T, false>(k); });
}

}  // namespace

void kernels_layer_norm(KernelTable& table) {
  table.add("layer_norm", layer_norm_kernel);
  table.add("rms_norm", rms_norm_kernel);
  table.add("layer_norm_backward", layer_norm_backward_kernel);
}

}  // namespace tw::ops
