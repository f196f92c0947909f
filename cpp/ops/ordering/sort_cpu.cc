// Rows are sorted as pairs of value and index: n log n comparisons for sort and mode, n + k log k for the
// others.
#include "ops/ordering/sort.h"

#include <algorithm>
#include <vector>

#include "device/cpu/element.h"
#include "device/cpu/rows.h"
#include "device/kept_dim.h"
#include "ops/reduction/reduction.h"

namespace tw::ops {

using namespace device;

namespace {

template <class T>
struct Entry {
  compute_t<T> value;
  int64_t index;
};

// Ascending: NaN last. Descending: NaN first.
template <bool kDescending, class V>
bool precedes(V a, V b) {
  if constexpr (kDescending) return a > b || (a != a && b == b);
  return a < b || (b != b && a == a);
}

// The same, equal values by index: a total order, so that what is unstable gives one result.
template <bool kDescending, class T>
bool comes_before(const Entry<T>& a, const Entry<T>& b) {
  if (precedes<kDescending>(a.value, b.value)) return true;
  if (precedes<kDescending>(b.value, a.value)) return false;
  return a.index < b.index;
}

template <class T>
std::vector<Entry<T>> read_row(const char* data, int64_t n) {
  std::vector<Entry<T>> row(n);
  auto* x = reinterpret_cast<const stored_t<T>*>(data);
  for (int64_t i = 0; i < n; i++) row[i] = {load<T>(x[i]), i};
  return row;
}

template <class T>
void write_row(const std::vector<Entry<T>>& row, int64_t n, char* const* data) {
  auto* values = reinterpret_cast<stored_t<T>*>(data[0]);
  auto* indices = reinterpret_cast<int64_t*>(data[1]);
  for (int64_t i = 0; i < n; i++) {
    values[i] = store<T>(row[i].value);
    indices[i] = row[i].index;
  }
}

int64_t row_length(const Operand& x, int64_t dim) { return x.rank() == 0 ? 1 : x.size(dim); }

void sort_kernel(KernelContext& k) {
  const auto& a = k.attrs<SortAttrs>();
  if (k.out(0).count() == 0) return;
  int64_t dim = wrap_dim(a.dim, k.in(0).rank(), k.op), n = row_length(k.in(0), dim);
  dispatch_real_bool(k.in(0).dtype, k.op, [&]<class T>() {
    row_loop({&k.out(0), &k.out(1)}, {&k.in(0)}, dim, [&](int64_t, char* const* data) {
      auto row = read_row<T>(data[2], n);
      if (a.descending)
        std::sort(row.begin(), row.end(), comes_before<true, T>);
      else
        std::sort(row.begin(), row.end(), comes_before<false, T>);
      write_row<T>(row, n, data);
    });
  });
}

template <bool kDescending, class T>
void take_first(std::vector<Entry<T>>& row, int64_t count, bool sorted) {
  auto middle = row.begin() + count;
  if (count < static_cast<int64_t>(row.size()))
    std::nth_element(row.begin(), middle, row.end(), comes_before<kDescending, T>);
  if (sorted) std::sort(row.begin(), middle, comes_before<kDescending, T>);
}

void topk_kernel(KernelContext& k) {
  const auto& a = k.attrs<TopkAttrs>();
  if (k.out(0).count() == 0) return;
  int64_t dim = wrap_dim(a.dim, k.in(0).rank(), k.op), n = row_length(k.in(0), dim);
  dispatch_real_bool(k.in(0).dtype, k.op, [&]<class T>() {
    row_loop({&k.out(0), &k.out(1)}, {&k.in(0)}, dim, [&](int64_t, char* const* data) {
      auto row = read_row<T>(data[2], n);
      a.largest ? take_first<true, T>(row, a.k, a.sorted) : take_first<false, T>(row, a.k, a.sorted);
      write_row<T>(row, a.k, data);
    });
  });
}

// choose(row) says which entry of a row is wanted.
template <class Choose>
void select_in_rows(KernelContext& k, int64_t given_dim, const Choose& choose) {
  if (k.out(0).count() == 0) return;
  int64_t dim = wrap_dim(given_dim, k.in(0).rank(), k.op), n = row_length(k.in(0), dim);
  KeptDim values(k.out(0), k.in(0), dim), indices(k.out(1), k.in(0), dim);
  dispatch_real_bool(k.in(0).dtype, k.op, [&]<class T>() {
    row_loop({&values.operand, &indices.operand}, {&k.in(0)}, dim, [&](int64_t, char* const* data) {
      auto row = read_row<T>(data[2], n);
      Entry<T> entry = choose.template operator()<T>(row);
      *reinterpret_cast<stored_t<T>*>(data[0]) = store<T>(entry.value);
      *reinterpret_cast<int64_t*>(data[1]) = entry.index;
    });
  });
}

template <class T>
Entry<T> nth(std::vector<Entry<T>>& row, int64_t at) {
  std::nth_element(row.begin(), row.begin() + at, row.end(), comes_before<false, T>);
  return row[at];
}

void kthvalue_kernel(KernelContext& k) {
  const auto& a = k.attrs<KthAttrs>();
  select_in_rows(k, a.dim, [&]<class T>(std::vector<Entry<T>>& row) { return nth<T>(row, a.k - 1); });
}

template <bool kSkipNan>
void median_kernel(KernelContext& k) {
  select_in_rows(k, k.attrs<DimKeepAttrs>().dim, []<class T>(std::vector<Entry<T>>& row) {
    int64_t numbers = 0;
    const Entry<T>* nan = nullptr;
    for (const Entry<T>& entry : row) {
      bool is_nan = entry.value != entry.value;
      numbers += !is_nan;
      if (is_nan && !nan) nan = &entry;
    }
    if (nan && (!kSkipNan || numbers == 0)) return *nan;
    return nth<T>(row, (numbers - 1) / 2);
  });
}

void mode_kernel(KernelContext& k) {
  select_in_rows(k, k.attrs<DimKeepAttrs>().dim, []<class T>(std::vector<Entry<T>>& row) {
    std::sort(row.begin(), row.end(), comes_before<false, T>);
    size_t best = 0, best_length = 0, start = 0;
    for (size_t i = 0; i < row.size(); i++) {
      if (i + 1 < row.size() && row[i + 1].value == row[i].value) continue;
      if (i + 1 - start > best_length) best = i, best_length = i + 1 - start;
      start = i + 1;
    }
    return row[best];
  });
}

}  // namespace

void kernels_sort(KernelTable& table) {
  table.add("sort", sort_kernel);
  table.add("topk", topk_kernel);
  table.add("kthvalue", kthvalue_kernel);
  table.add("median_dim", median_kernel<false>);
  table.add("nanmedian_dim", median_kernel<true>);
  table.add("mode", mode_kernel);
}

}  // namespace tw::ops
