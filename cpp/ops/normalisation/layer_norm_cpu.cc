// Forward reads x once and writes y; backward reads g and x once and writes dx. Floor: these bytes over the
// bandwidth. The gradients of weight and bias are summed over few rows at a time, these in fixed blocks, and
// the blocks in order, so they do not depend on the number of threads, and any few rows can be had by
// themselves (session/row_sums.h does).
#include <algorithm>
#include <bit>
#include <limits>

#include "device/cpu/dense.h"
#include "device/cpu/parallel.h"
#include "device/cpu/row_pass.h"
#include "device/cpu/row_sum.h"
#include "ops/normalisation/normalisation.h"

namespace tw::ops {

using namespace device;

namespace {

constexpr int64_t kGrainBytes = 192 << 10;
constexpr int64_t kFewRows = 8;  // whose gradients of weight and bias are summed by themselves

int64_t row_grain(int64_t n, int64_t bytes) {
  return std::max<int64_t>(1, kGrainBytes / std::max<int64_t>(1, n * bytes));
}

template <class C>
ScratchArray<C> filled(int64_t n, C value) {
  ScratchArray<C> array(n);
  std::fill_n(array.data(), n, value);
  return array;
}

template <class T, bool kCentre>
TW_CLONES __attribute__((flatten)) RowStats<compute_t<T>> norm_row(int64_t n, const stored_t<T>* x,
                                                                   const compute_t<T>* w,
                                                                   const compute_t<T>* b, double eps,
                                                                   stored_t<T>* y) {
  using C = compute_t<T>;
  auto stats = row_stats<C, kCentre>(
      n, eps, [x](int64_t i) { return load<T>(x[i]); }, [y](int64_t i) { fetch_to_write(y, i); });
  C mean = stats.mean, rstd = stats.rstd;
  row_pass(
      n,
      [=](int64_t i) {
        C scaled = (load<T>(x[i]) - mean) * rstd * w[i];
        y[i] = store<T>(kCentre ? scaled + b[i] : scaled);
      },
      x);
  return stats;
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

// Given by reference: a copy on the stack, made of stores that are narrower than its loads, waits for every
// store of the row before.
template <class C>
struct BackwardRow {
  const C* w;
  C mean, rstd;
  C* dw;  // added to; null: not wanted
  C* db;
};

// Σ g w and Σ g w x̂ over a row, summed as by long_sum; on the way g x̂ is added to dw and g to db.
template <class T, bool kParams>
TW_INLINE void backward_sums(int64_t n, const stored_t<T>* g, const stored_t<T>* x,
                             const BackwardRow<compute_t<T>>& p, const stored_t<T>* dx, double* sum,
                             double* product) {
  using C = compute_t<T>;
  constexpr int64_t kPiece = 4096, kLanes = 32;
  auto plus = [](C a, C b) { return a + b; };
  for (int64_t first = 0; first < n; first += kPiece) {
    int64_t last = std::min(n, first + kPiece), i = first;
    C sums[kLanes] = {}, products[kLanes] = {};
    auto add = [&](int64_t at, int64_t lane) __attribute__((always_inline)) {
      C gi = load<T>(g[at]), xhat = (load<T>(x[at]) - p.mean) * p.rstd, gw = gi * p.w[at];
      sums[lane] += gw;
      products[lane] += gw * xhat;
      if constexpr (kParams) {
        p.dw[at] += gi * xhat;
        p.db[at] += gi;
      }
    };
    for (; i + kLanes <= last; i += kLanes) {
      if (dx && i % 64 == 0) fetch_to_write(dx, i);
#pragma GCC ivdep
      for (int64_t lane = 0; lane < kLanes; lane++) add(i + lane, lane);
    }
    for (int64_t lane = 0; i < last; i++, lane++) add(i, lane);
    for (int64_t lane = 0; lane < 16; lane++) {
      sums[lane] += sums[lane + 16];
      products[lane] += products[lane + 16];
    }
    *sum += static_cast<double>(device::detail::fold_lanes(sums, plus));
    *product += static_cast<double>(device::detail::fold_lanes(products, plus));
  }
}

template <class T, bool kCentre, bool kParams>
TW_CLONES __attribute__((flatten)) void backward_row(int64_t n, const stored_t<T>* g, const stored_t<T>* x,
                                                     const BackwardRow<compute_t<T>>& row, stored_t<T>* dx) {
  using C = compute_t<T>;
  const BackwardRow<C> p = row;
  double sum = 0, product = 0, count = static_cast<double>(n);
  backward_sums<T, kParams>(n, g, x, p, dx, &sum, &product);
  if (!dx) return;
  C c1 = kCentre ? C(sum / count) : C(0), c2 = C(product / count);
  row_pass(
      n,
      [=](int64_t i) {
        C xhat = (load<T>(x[i]) - p.mean) * p.rstd;
        dx[i] = store<T>(p.rstd * (load<T>(g[i]) * p.w[i] - c1 - xhat * c2));
      },
      g, x);
}

// total[i] += Σ part[i] over blocks that lie `stride` apart.
template <class C>
TW_CLONES void sum_blocks(const C* parts, int64_t blocks, int64_t stride, int64_t n, C* total) {
  for (int64_t b = 0; b < blocks; b++) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++) total[i] += parts[b * stride + i];
  }
}

// Where the second of two arrays that are written side by side begins: half a page away from the first, since
// a load waits for stores to addresses that are equal in their last 12 bits.
template <class C>
int64_t half_a_page_apart(int64_t n) {
  constexpr int64_t kPage = 4096 / sizeof(C);
  return n + (kPage / 2 + kPage - n % kPage) % kPage;
}

template <class C>
void add_blocks(const C* parts, int64_t blocks, int64_t stride, int64_t n, const Operand& out) {
  ScratchArray<C> total = filled<C>(n, 0);
  sum_blocks(parts, blocks, stride, n, total.data());
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
  int64_t block = std::bit_ceil(static_cast<uint64_t>(std::max(kFewRows, (rows + 63) / 64)));
  int64_t blocks = (rows + block - 1) / block;
  ScratchArray<C> parts(params ? blocks * 2 * n : 0);
  auto* dx = a.wanted & kNormInput ? k.out(0).as<stored_t<T>>() : nullptr;
  parallel_for(0, blocks, row_grain(n * block, 3 * sizeof(T)), [&](int64_t first, int64_t last) {
    int64_t apart = half_a_page_apart<C>(n);
    ScratchArray<C> few(params ? apart + n : 0);
    for (int64_t b = first; b < last; b++) {
      C* sums = params ? parts.data() + b * 2 * n : nullptr;
      if (params) std::fill_n(sums, 2 * n, C(0));
      for (int64_t row = b * block; row < std::min(rows, (b + 1) * block); row++) {
        if (params && row % kFewRows == 0) std::fill_n(few.data(), apart + n, C(0));
        BackwardRow<C> p{w, kCentre ? mean[row] : C(0), rstd[row], few.data(), few.data() + apart};
        auto* row_dx = dx ? dx + row * n : nullptr;
        params ? backward_row<T, kCentre, true>(n, g.data() + row * n, x.data() + row * n, p, row_dx)
               : backward_row<T, kCentre, false>(n, g.data() + row * n, x.data() + row * n, p, row_dx);
        bool last_of_few = (row + 1) % kFewRows == 0 || row + 1 == rows;
        if (!params || !last_of_few) continue;
        sum_blocks(few.data(), 1, n, n, sums);
        sum_blocks(few.data() + apart, 1, n, n, sums + n);
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
