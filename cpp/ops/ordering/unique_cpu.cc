// unique_rows sorts row numbers; bincount and histc read each element once; a search is log2 n comparisons a
// value.
#include "ops/ordering/unique.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <vector>

#include "device/cpu/dense.h"
#include "device/cpu/parallel.h"
#include "ops/ordering/unique_formula.h"

namespace tw::ops {

using namespace device;

namespace {

// NaN last.
template <class T>
int compare_rows(const stored_t<T>* a, const stored_t<T>* b, int64_t width) {
  for (int64_t j = 0; j < width; j++) {
    auto x = load<T>(a[j]), y = load<T>(b[j]);
    if (x < y || (y != y && x == x)) return -1;
    if (y < x || (x != x && y == y)) return 1;
  }
  return 0;
}

template <class T>
bool same_rows(const stored_t<T>* a, const stored_t<T>* b, int64_t width) {
  for (int64_t j = 0; j < width; j++)
    if (!(load<T>(a[j]) == load<T>(b[j]))) return false;
  return true;
}

template <class T>
void unique_rows(KernelContext& k) {
  int64_t n = k.in(0).size(0), width = k.in(0).size(1);
  Dense<T> x(k.in(0));
  auto row = [&](int64_t i) { return x.data() + i * width; };
  std::vector<int64_t> order(n), starts;
  std::iota(order.begin(), order.end(), int64_t{0});
  if (!k.attrs<UniqueAttrs>().consecutive) {
    std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      int sign = compare_rows<T>(row(a), row(b), width);
      return sign != 0 ? sign < 0 : a < b;
    });
  }
  for (int64_t i = 0; i < n; i++)
    if (i == 0 || !same_rows<T>(row(order[i - 1]), row(order[i]), width)) starts.push_back(i);
  int64_t count = static_cast<int64_t>(starts.size());
  k.allocate_output(0, Dims{count, width});
  k.allocate_output(1, Dims{n});
  k.allocate_output(2, Dims{count});
  auto* rows = k.out(0).as<stored_t<T>>();
  auto *inverse = k.out(1).as<int64_t>(), *counts = k.out(2).as<int64_t>();
  for (int64_t u = 0; u < count; u++) {
    int64_t last = u + 1 < count ? starts[u + 1] : n;
    std::copy_n(row(order[starts[u]]), width, rows + u * width);
    counts[u] = last - starts[u];
    for (int64_t i = starts[u]; i < last; i++) inverse[order[i]] = u;
  }
}

void unique_rows_kernel(KernelContext& k) {
  dispatch_real_bool(k.in(0).dtype, k.op, [&]<class T>() { unique_rows<T>(k); });
}

template <class W>
void count_into(KernelContext& k, const Dense<int64_t>& x, int64_t n, const W* weights) {
  auto* out = k.out().as<W>();
  std::fill_n(out, k.out().count(), W(0));
  for (int64_t i = 0; i < n; i++) out[x[i]] += weights ? weights[i] : W(1);
}

void bincount_kernel(KernelContext& k) {
  int64_t n = k.in(0).count(), size = k.attrs<BincountAttrs>().minlength;
  Dense<int64_t> x(k.in(0));
  for (int64_t i = 0; i < n; i++) {
    TW_CHECK(x[i] >= 0, kRuntime, "bincount: the input must not be negative, got ", x[i]);
    TW_CHECK(x[i] < int64_t{1} << 40, kOutOfMemory, "bincount: too many bins are needed for the number ",
             x[i]);
    size = std::max(size, x[i] + 1);
  }
  k.allocate_output(0, Dims{size});
  if (!k.in(1).present()) return count_into<int64_t>(k, x, n, nullptr);
  if (k.out().dtype == DType::kFloat32) {
    Dense<float> weights(k.in(1));
    return count_into<float>(k, x, n, weights.data());
  }
  Dense<double> weights(k.in(1));
  count_into<double>(k, x, n, weights.data());
}

void histc_kernel(KernelContext& k) {
  const auto& a = k.attrs<HistcAttrs>();
  int64_t n = k.in(0).count();
  Dense<double> x(k.in(0));
  double low = a.min, high = a.max;
  if (low == high && n > 0) {
    low = *std::min_element(x.data(), x.data() + n);
    high = *std::max_element(x.data(), x.data() + n);
  }
  if (low == high) low -= 1, high += 1;
  TW_CHECK(std::isfinite(low) && std::isfinite(high), kRuntime, "histc: the range [", low, ", ", high,
           "] must be finite");
  std::vector<int64_t> counts(a.bins, 0);
  for (int64_t i = 0; i < n; i++) {
    int64_t bin = bin_of(x[i], low, high, a.bins);
    if (bin >= 0) counts[bin]++;
  }
  Dims sizes{a.bins}, strides{1};
  copy_cast(k.out(), {counts.data(), &sizes, &strides, DType::kInt64});
}

void searchsorted_kernel(KernelContext& k) {
  const auto& a = k.attrs<SearchAttrs>();
  int64_t n = k.in(0).size(-1), count = k.in(1).count();
  int64_t per_row = k.in(0).rank() > 1 ? k.in(1).size(-1) : count;
  Dense<int64_t> sorter(k.in(2));
  for (int64_t i = 0; sorter.data() && i < k.in(2).count(); i++)
    TW_CHECK(sorter[i] >= 0 && sorter[i] < n, kIndex, k.op, ": sorter must hold indices in [0, ", n,
             "), got ", sorter[i]);
  dispatch_real_bool(k.in(0).dtype, k.op, [&]<class T>() {
    Dense<T> sequence(k.in(0)), values(k.in(1));
    parallel_for(0, count, 4096, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; i++) {
        int64_t at = i / per_row * n;
        const int64_t* order = sorter.data() ? sorter.data() + at : nullptr;
        auto element = [&](int64_t j) { return load<T>(sequence[at + (order ? order[j] : j)]); };
        int64_t place = place_among(element, n, load<T>(values[i]), a.right);
        if (a.out_int32)
          k.out().as<int32_t>()[i] = static_cast<int32_t>(place);
        else
          k.out().as<int64_t>()[i] = place;
      }
    });
  });
}

}  // namespace

void kernels_unique(KernelTable& table) {
  table.add("unique_rows", unique_rows_kernel);
  table.add("bincount", bincount_kernel);
  table.add("histc", histc_kernel);
  table.add("searchsorted_rows", searchsorted_kernel);
}

}  // namespace tw::ops
