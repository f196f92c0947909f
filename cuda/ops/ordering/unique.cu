// unique_rows, bincount, histc, searchsorted_rows.
//
// unique_rows sorts row numbers by the columns of the matrix, the last column first, at SortedRows' cost
// each; then marks where runs begin and writes one row a run. bincount and histc read each element once and
// count with atomic sums of integers, whose order does not matter; weights are summed in order
// (common/fold_places.h). A search is log2 n comparisons a value. The first two wait for the device, which
// alone knows the sizes of their results. Floor: the inputs' bytes over the bandwidth.
//
// Per element: 110 bytes and 250 operations (unique, float32).
#include "ops/ordering/unique.h"

#include <bit>
#include <cmath>

#include "cuda/common/atomic.h"
#include "cuda/common/dense.h"
#include "cuda/common/flag.h"
#include "cuda/common/fold_places.h"
#include "cuda/common/holding.h"
#include "cuda/common/order_key.h"
#include "cuda/common/row_values.h"
#include "ops/ordering/unique_formula.h"

namespace tw::cuda {

using device::KernelContext;
using device::Operand;

namespace {

constexpr int kThreads = block_threads(256);

unsigned blocks_for(int64_t tasks) { return static_cast<unsigned>((tasks + kThreads - 1) / kThreads); }

TW_DEVICE int64_t task_index() { return static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; }

// A matrix, and its rows in some order; without one, as they come.
template <class T>
struct OrderedRows {
  const stored_t<T>* x;
  int64_t count, width;
  const uint32_t* order;

  TW_DEVICE int64_t row(int64_t i) const { return order ? order[i] : i; }
  TW_DEVICE bool same(int64_t a, int64_t b) const {
    const stored_t<T>*first = x + row(a) * width, *second = x + row(b) * width;
    for (int64_t j = 0; j < width; j++)
      if (!(load<T>(first[j]) == load<T>(second[j]))) return false;
    return true;
  }
};

template <class T>
__global__ void __launch_bounds__(kThreads)
    column_keys_kernel(OrderedRows<T> rows, int64_t column, typename OrderKey<T>::K* keys) {
  int64_t i = task_index();
  if (i < rows.count) keys[i] = OrderKey<T>::rising(load<T>(rows.x[rows.row(i) * rows.width + column]));
}

// order = order[places]
__global__ void __launch_bounds__(kThreads)
    reorder_kernel(const uint32_t* order, const uint32_t* places, uint32_t* result, int64_t count) {
  int64_t i = task_index();
  if (i < count) result[i] = order ? order[places[i]] : places[i];
}

template <class T>
__global__ void __launch_bounds__(kThreads) mark_starts_kernel(OrderedRows<T> rows, uint8_t* starts) {
  int64_t i = task_index();
  if (i < rows.count) starts[i] = i == 0 || !rows.same(i - 1, i);
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    write_runs_kernel(OrderedRows<T> rows, const int64_t* starts, int64_t runs, stored_t<T>* out,
                      int64_t* inverse, int64_t* counts) {
  int64_t i = task_index();
  if (i >= rows.count) return;
  int64_t run = count_below<int64_t>(starts, 0, runs, i + 1) - 1;
  inverse[rows.row(i)] = run;
  if (starts[run] != i) return;
  counts[run] = (run + 1 < runs ? starts[run + 1] : rows.count) - i;
  for (int64_t j = 0; j < rows.width; j++) out[run * rows.width + j] = rows.x[rows.row(i) * rows.width + j];
}

// The numbers of the rows, sorted by all columns.
template <class T>
void sort_all_columns(OrderedRows<T> rows, uint32_t* order, const char* op) {
  DeviceScratch other(static_cast<size_t>(rows.count) * sizeof(uint32_t));
  for (int64_t column = rows.width - 1; column >= 0; column--) {
    SortedRows<typename OrderKey<T>::K> sorted(1, rows.count, op);
    launch(op, column_keys_kernel<T>, {blocks_for(rows.count), kThreads}, rows, column, sorted.keys());
    sorted.sort(OrderKey<T>::kBits);
    launch(op, reorder_kernel, {blocks_for(rows.count), kThreads}, rows.order, sorted.places(),
           other.as<uint32_t>(), rows.count);
    check(cudaMemcpyAsync(order, other.as<uint32_t>(), static_cast<size_t>(rows.count) * sizeof(uint32_t),
                          cudaMemcpyDefault, current_stream()),
          op);
    rows.order = order;
  }
}

template <class T>
void unique_rows(KernelContext& k) {
  int64_t count = k.in(0).size(0), width = k.in(0).size(1);
  Dense<T> x(k.in(0), k.op);
  DeviceScratch order(static_cast<size_t>(count) * sizeof(uint32_t)), marks(static_cast<size_t>(count));
  OrderedRows<T> rows{reinterpret_cast<const stored_t<T>*>(x.data()), count, width, nullptr};
  if (!k.attrs<ops::UniqueAttrs>().consecutive && width > 0 && count > 0) {
    sort_all_columns(rows, order.as<uint32_t>(), k.op);
    rows.order = order.as<const uint32_t>();
  }
  launch(k.op, mark_starts_kernel<T>, {blocks_for(count), kThreads}, rows, marks.as<uint8_t>());
  Holding starts(marks.as<const uint8_t>(), count, k.op);
  int64_t runs = starts.total();
  k.allocate_output(0, Dims{runs, width});
  k.allocate_output(1, Dims{count});
  k.allocate_output(2, Dims{runs});
  DeviceScratch places(static_cast<size_t>(runs) * sizeof(int64_t));
  starts.write(Dims{count}, places.as<int64_t>());
  launch(k.op, write_runs_kernel<T>, {blocks_for(count), kThreads}, rows, places.as<const int64_t>(), runs,
         k.out(0).as<stored_t<T>>(), k.out(1).as<int64_t>(), k.out(2).as<int64_t>());
}

void unique_rows_kernel(KernelContext& k) {
  dispatch_real_bool(k.in(0).dtype, k.op, [&]<class T>() { unique_rows<T>(k); });
}

constexpr int64_t kMostBins = int64_t{1} << 40;

// The largest number, and the first that is no bin.
__global__ void __launch_bounds__(kThreads)
    largest_bin_kernel(const int64_t* x, int64_t count, unsigned long long* largest,
                       unsigned long long* wrong) {
  int64_t i = task_index(), value = i < count ? x[i] : 0;
  if (value < 0 || value >= kMostBins) {
    note_wrong(wrong, i);
    value = 0;
  }
  value = block_reduce<kThreads>(value, int64_t{0}, Larger());
  if (threadIdx.x == 0) atomicMax(largest, static_cast<unsigned long long>(value));
}

__global__ void __launch_bounds__(kThreads)
    count_bins_kernel(const int64_t* x, int64_t count, int64_t* counts) {
  int64_t i = task_index();
  if (i < count) atomic_add(&counts[x[i]], int64_t{1});
}

void clear(void* data, int64_t size_bytes, const char* op) {
  if (size_bytes) check(cudaMemsetAsync(data, 0, static_cast<size_t>(size_bytes), current_stream()), op);
}

int64_t bins_wanted(const int64_t* x, int64_t count, int64_t least) {
  if (count == 0) return least;
  DeviceScratch largest(sizeof(int64_t));
  clear(largest.as<void>(), sizeof(int64_t), "bincount");
  FirstWrong wrong;
  launch("bincount", largest_bin_kernel, {blocks_for(count), kThreads}, x, count,
         largest.as<unsigned long long>(), wrong.data());
  if (int64_t position = wrong.position(); position >= 0) {
    int64_t value = read_one(x + position);
    TW_CHECK(value >= 0, kRuntime, "bincount: the input must not be negative, got ", value);
    TW_FAIL(kOutOfMemory, "bincount: too many bins are needed for the number ", value);
  }
  return std::max(least, read_one(largest.as<const int64_t>()) + 1);
}

struct BinMap {
  char* bins;
  const char* weights;
  int64_t size;  // of an element
  TW_DEVICE char* to(int64_t, uint64_t bin, uint32_t, int64_t) const {
    return bins + static_cast<int64_t>(bin) * size;
  }
  TW_DEVICE const char* from(int64_t, uint32_t place, int64_t) const { return weights + place * size; }
};

template <class W>
void sum_weights(KernelContext& k, const int64_t* x, int64_t count) {
  Dense<W> weights(k.in(1), k.op);
  SortedRows<uint64_t> sorted(1, count, k.op);
  check(cudaMemcpyAsync(sorted.keys(), x, static_cast<size_t>(count) * sizeof(int64_t), cudaMemcpyDefault,
                        current_stream()),
        k.op);
  sorted.sort(std::bit_width(static_cast<uint64_t>(k.out().count())));
  BinMap map{k.out().as<char>(), reinterpret_cast<const char*>(weights.data()), sizeof(W)};
  fold_places(k.op, place_lists(sorted, ~uint64_t{0}), map,
              Folding{Fold::kSum, false, dtype_of<W>, dtype_of<W>});
}

void bincount_kernel(KernelContext& k) {
  int64_t count = k.in(0).count();
  Dense<int64_t> x(k.in(0), k.op);
  k.allocate_output(0, Dims{bins_wanted(x.data(), count, k.attrs<ops::BincountAttrs>().minlength)});
  clear(k.out().data, k.out().count() * size_of(k.out().dtype), k.op);
  if (count == 0) return;
  if (!k.in(1).present())
    launch(k.op, count_bins_kernel, {blocks_for(count), kThreads}, x.data(), count, k.out().as<int64_t>());
  else if (k.out().dtype == DType::kFloat32)
    sum_weights<float>(k, x.data(), count);
  else
    sum_weights<double>(k, x.data(), count);
}

// The smallest of `lows` and the largest of `highs`, `step` apart, of each block's share.
__global__ void __launch_bounds__(kThreads)
    range_kernel(const double* lows, const double* highs, int64_t step, int64_t count, double* ends) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  double low = kInf, high = -kInf;
  for (int64_t i = task_index(); i < count; i += static_cast<int64_t>(gridDim.x) * kThreads) {
    low = ops::smaller_of(low, lows[i * step]);
    high = ops::larger_of(high, highs[i * step]);
  }
  low = block_reduce<kThreads>(low, kInf, [](double a, double b) { return ops::smaller_of(a, b); });
  high = block_reduce<kThreads>(high, -kInf, [](double a, double b) { return ops::larger_of(a, b); });
  if (threadIdx.x == 0) {
    ends[2 * blockIdx.x] = low;
    ends[2 * blockIdx.x + 1] = high;
  }
}

void find_range(const double* x, int64_t count, double* low, double* high) {
  constexpr int64_t kMostBlocks = 1024;
  auto blocks = static_cast<unsigned>(std::min<int64_t>(blocks_for(count), kMostBlocks));
  DeviceScratch parts(2 * blocks * sizeof(double)), ends(2 * sizeof(double));
  launch("histc", range_kernel, {blocks, kThreads}, x, x, int64_t{1}, count, parts.as<double>());
  launch("histc", range_kernel, {1, kThreads}, parts.as<const double>(), parts.as<const double>() + 1,
         int64_t{2}, int64_t{blocks}, ends.as<double>());
  *low = read_one(ends.as<const double>());
  *high = read_one(ends.as<const double>() + 1);
}

__global__ void __launch_bounds__(kThreads)
    histogram_kernel(const double* x, int64_t count, double low, double high, int64_t bins, int64_t* counts) {
  int64_t i = task_index();
  if (i >= count) return;
  int64_t bin = ops::bin_of(x[i], low, high, bins);
  if (bin >= 0) atomic_add(&counts[bin], int64_t{1});
}

void histc_kernel(KernelContext& k) {
  const auto& a = k.attrs<ops::HistcAttrs>();
  int64_t count = k.in(0).count();
  Dense<double> x(k.in(0), k.op);
  double low = a.min, high = a.max;
  if (low == high && count > 0) find_range(x.data(), count, &low, &high);
  if (low == high) low -= 1, high += 1;
  TW_CHECK(std::isfinite(low) && std::isfinite(high), kRuntime, "histc: the range [", low, ", ", high,
           "] must be finite");
  DeviceScratch counts(static_cast<size_t>(a.bins) * sizeof(int64_t));
  clear(counts.as<void>(), a.bins * static_cast<int64_t>(sizeof(int64_t)), k.op);
  launch(k.op, histogram_kernel, {blocks_for(count), kThreads}, x.data(), count, low, high, a.bins,
         counts.as<int64_t>());
  Dims sizes{a.bins}, strides{1};
  copy_cast(k.out(), {counts.as<void>(), &sizes, &strides, DType::kInt64}, k.op);
}

struct Search {
  const int64_t* sorter;
  int64_t length, count, per_row;
  bool right;
};

template <class T, class Out>
__global__ void __launch_bounds__(kThreads)
    search_kernel(Search s, const stored_t<T>* sequence, const stored_t<T>* values, Out* out) {
  int64_t i = task_index();
  if (i >= s.count) return;
  int64_t row = i / s.per_row * s.length;
  auto element = [&](int64_t j) { return load<T>(sequence[row + (s.sorter ? s.sorter[row + j] : j)]); };
  out[i] = static_cast<Out>(ops::place_among(element, s.length, load<T>(values[i]), s.right));
}

__global__ void __launch_bounds__(kThreads)
    check_sorter_kernel(const int64_t* sorter, int64_t count, int64_t length, unsigned long long* wrong) {
  int64_t i = task_index();
  if (i < count && (sorter[i] < 0 || sorter[i] >= length)) note_wrong(wrong, i);
}

void check_sorter(const Dense<int64_t>& sorter, int64_t count, int64_t length, const char* op) {
  FirstWrong wrong;
  launch(op, check_sorter_kernel, {blocks_for(count), kThreads}, sorter.data(), count, length, wrong.data());
  int64_t position = wrong.position();
  if (position >= 0)
    TW_FAIL(kIndex, op, ": sorter must hold indices in [0, ", length, "), got ",
            read_one(sorter.data() + position));
}

void searchsorted_kernel(KernelContext& k) {
  const auto& a = k.attrs<ops::SearchAttrs>();
  int64_t length = k.in(0).size(-1), count = k.in(1).count();
  int64_t per_row = k.in(0).rank() > 1 ? k.in(1).size(-1) : count;
  Dense<int64_t> sorter(k.in(2), k.op);
  if (sorter.data()) check_sorter(sorter, k.in(2).count(), length, k.op);
  if (count == 0) return;
  Search search{sorter.data(), length, count, per_row, a.right};
  dispatch_real_bool(k.in(0).dtype, k.op, [&]<class T>() {
    Dense<T> sequence(k.in(0), k.op), values(k.in(1), k.op);
    auto* from = reinterpret_cast<const stored_t<T>*>(sequence.data());
    auto* wanted = reinterpret_cast<const stored_t<T>*>(values.data());
    Grid grid{blocks_for(count), kThreads};
    if (a.out_int32)
      launch(k.op, search_kernel<T, int32_t>, grid, search, from, wanted, k.out().as<int32_t>());
    else
      launch(k.op, search_kernel<T, int64_t>, grid, search, from, wanted, k.out().as<int64_t>());
  });
}

}  // namespace

void kernels_unique(device::KernelTable& table) {
  table.add("unique_rows", unique_rows_kernel);
  table.add("bincount", bincount_kernel);
  table.add("histc", histc_kernel);
  table.add("searchsorted_rows", searchsorted_kernel);
}

}  // namespace tw::cuda
