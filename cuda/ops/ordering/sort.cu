// sort, topk, kthvalue, median_dim, nanmedian_dim, mode, and SortedRows, which others sort by too.
//
// The elements of a row become keys, which are sorted with their places (sorted_rows_kernels.h says how and
// at what cost; of long rows topk sorts what it wants alone, front_rows.h); what is asked for is then read at
// these places. Bytes beside the sort's: the input twice, a
// key written and a place read an element, the results. Floor: these over the bandwidth.
//
// Per element: 104 bytes and 240 operations (sort of long rows, float32).
#include "ops/ordering/sort.h"

#include "cuda/common/order_key.h"
#include "cuda/common/rows.h"
#include "cuda/ops/ordering/front_rows.h"
#include "cuda/ops/ordering/sorted_rows_kernels.h"
#include "device/kept_dim.h"
#include "ops/reduction/reduction.h"

namespace tw::cuda {

using device::KernelContext;
using device::Operand;

template <class K>
SortedRows<K>::SortedRows(int64_t rows, int64_t length, const char* op)
    : rows_(rows), length_(length), op_(op) {
  TW_CHECK(rows * length < kMostSteps, kNotImplemented, op, ": ordering ", rows * length,
           " elements is not supported on CUDA, 2^31 - 1 are the most");
  auto count = static_cast<size_t>(rows * length);
  keys_ = std::make_unique<DeviceScratch>(count * sizeof(K));
  places_ = std::make_unique<DeviceScratch>(count * sizeof(uint32_t));
}

template <class K>
void SortedRows<K>::sort(int bits) {
  if (rows_ == 0 || length_ == 0) return;
  if (length_ <= kBlockRow)
    sort_in_blocks();
  else
    sort_by_digits(bits);
}

template <class K>
void SortedRows<K>::sort_in_blocks() {
  int padded = 2;
  while (padded < length_) padded *= 2;
  int in_block = std::max(1, 2 * kSortThreads / padded);
  auto blocks = static_cast<unsigned>((rows_ + in_block - 1) / in_block);
  auto shared =
      static_cast<unsigned>(static_cast<size_t>(padded * in_block) * (sizeof(K) + sizeof(uint32_t)));
  launch(op_, sort_blocks_kernel<K>, {blocks, kSortThreads, shared}, keys(), places(), rows_,
         static_cast<int>(length_), padded, in_block);
}

template <class K>
void SortedRows<K>::sort_by_digits(int bits) {
  auto count = static_cast<size_t>(rows_ * length_);
  auto tiles = static_cast<int>((length_ + kTile - 1) / kTile);
  auto blocks = static_cast<unsigned>(rows_ * tiles);
  int64_t of_row = int64_t{kDigits} * tiles;
  DeviceScratch counts(static_cast<size_t>(rows_ * of_row) * sizeof(uint32_t));
  auto other_keys = std::make_unique<DeviceScratch>(count * sizeof(K));
  auto other_places = std::make_unique<DeviceScratch>(count * sizeof(uint32_t));
  for (int shift = 0; shift < bits; shift += kDigitBits) {
    DigitPass<K> pass{keys(),
                      shift == 0 ? nullptr : places(),
                      other_keys->template as<K>(),
                      other_places->template as<uint32_t>(),
                      counts.as<uint32_t>(),
                      length_,
                      tiles,
                      shift};
    launch(op_, count_digits_kernel<K>, {blocks, kSortThreads}, pass);
    launch(op_, scan_counts_kernel<uint32_t>, {static_cast<unsigned>(rows_), kSortThreads},
           counts.as<uint32_t>(), of_row);
    launch(op_, move_keys_kernel<K>, {blocks, kSortThreads}, pass);
    std::swap(keys_, other_keys);
    std::swap(places_, other_places);
  }
}

template class SortedRows<uint32_t>;
template class SortedRows<uint64_t>;

namespace {

// `count` elements of each row of the input, those at the places that place_of(row, j) names. Operands:
// values, indices, input.
template <class T, class PlaceOf>
__global__ void __launch_bounds__(kSortThreads)
    take_places_kernel(Rows<3> rows, PlaceOf place_of, Divisor count, int64_t tasks) {
  int64_t task = static_cast<int64_t>(blockIdx.x) * kSortThreads + threadIdx.x;
  if (task >= tasks) return;
  int64_t row = count.quotient(static_cast<uint32_t>(task)), j = task - row * count.divisor;
  int64_t place = place_of(row, j);
  char* at[3];
  rows.at(row, at);
  auto* values = reinterpret_cast<stored_t<T>*>(at[0] + j * rows.steps[0]);
  *values = *reinterpret_cast<const stored_t<T>*>(at[2] + place * rows.steps[2]);
  *reinterpret_cast<int64_t*>(at[1] + j * rows.steps[1]) = place;
}

template <class T>
struct SortedKeys {
  const typename OrderKey<T>::K* keys;
  int64_t length;
  TW_DEVICE const auto* row(int64_t r) const { return keys + r * length; }
};

// The place of the key that choose(row, j) names by its number in the order.
template <class Choose>
struct SortedPlace {
  Choose choose;
  const uint32_t* places;
  int64_t length;
  TW_DEVICE int64_t operator()(int64_t row, int64_t j) const { return places[row * length + choose(row, j)]; }
};

template <class T, class PlaceOf>
void take_places(KernelContext& k, const Rows<3>& rows, const PlaceOf& place_of) {
  int64_t tasks = k.out(0).count();
  auto blocks = static_cast<unsigned>((tasks + kSortThreads - 1) / kSortThreads);
  launch(k.op, take_places_kernel<T, PlaceOf>, {blocks, kSortThreads}, rows, place_of,
         Divisor(static_cast<uint32_t>(tasks / rows.count)), tasks);
}

// The rows of input 0 along `dim` as keys, for order<T>(rows, keys).
template <class Order>
void with_keys(KernelContext& k, int64_t given_dim, bool descending, const Order& order) {
  const Operand& in = k.in(0);
  if (k.out(0).count() == 0) return;
  int64_t dim = wrap_dim(given_dim, in.rank(), k.op);
  device::KeptDim values(k.out(0), in, dim), indices(k.out(1), in, dim);
  auto rows = make_rows<3>({&values.operand, &indices.operand, &in}, dim, k.op);
  dispatch_real_bool(in.dtype, k.op, [&]<class T>() {
    SortedRows<typename OrderKey<T>::K> keys(rows.count, rows.length, k.op);
    write_keys<T>(in, dim, descending, keys.keys(), k.op);
    order.template operator()<T>(rows, keys);
  });
}

// Sorts them, and takes what make(SortedKeys) names.
template <class Make>
void take_sorted(KernelContext& k, int64_t dim, bool descending, const Make& make) {
  with_keys(k, dim, descending, [&]<class T>(const Rows<3>& rows, auto& keys) {
    keys.sort(OrderKey<T>::kBits);
    auto choose = make(SortedKeys<T>{keys.keys(), rows.length});
    take_places<T>(k, rows, SortedPlace<decltype(choose)>{choose, keys.places(), rows.length});
  });
}

struct InOrder {
  TW_DEVICE int64_t operator()(int64_t, int64_t j) const { return j; }
};

struct Fixed {
  int64_t at;
  TW_DEVICE int64_t operator()(int64_t, int64_t) const { return at; }
};

// NaN stands last. A row that has one gives its first, unless they are skipped and there is a number.
template <class T, bool kSkipNan>
struct Median {
  SortedKeys<T> sorted;

  TW_DEVICE int64_t operator()(int64_t row, int64_t) const {
    int64_t length = sorted.length, numbers = length;
    if constexpr (OrderKey<T>::kHasNan) numbers = count_below(sorted.row(row), 0, length, OrderKey<T>::kLast);
    bool nan = numbers < length && (!kSkipNan || numbers == 0);
    return nan ? numbers : (numbers - 1) / 2;
  }
};

// A block a row: the last place of the longest run of equal keys, the first of such; a NaN is a run of its
// own. Each thread looks at the runs that begin at its keys.
template <class T>
__global__ void __launch_bounds__(kSortThreads) mode_kernel(SortedKeys<T> sorted, int64_t* chosen) {
  using K = typename OrderKey<T>::K;
  const K* row = sorted.row(blockIdx.x);
  int64_t length = sorted.length;
  int64_t best = 0, best_length = 0;
  for (int64_t i = threadIdx.x; i < length; i += kSortThreads) {
    bool nan = OrderKey<T>::kHasNan && row[i] == OrderKey<T>::kLast;
    if (i > 0 && row[i - 1] == row[i] && !nan) continue;
    // The first key that is larger; the largest key of all has none, and runs to the end.
    K key = row[i];
    int64_t end = nan                            ? i + 1
                  : key == static_cast<K>(~K(0)) ? length
                                                 : count_below<K>(row, i, length, static_cast<K>(key + 1));
    if (end - i > best_length) best = i, best_length = end - i;
  }
  int64_t most = block_reduce<kSortThreads>(best_length, int64_t{0}, Larger());
  int64_t first = block_reduce<kSortThreads>(best_length == most ? -best : -length, -length, Larger());
  if (threadIdx.x == 0) chosen[blockIdx.x] = most - first - 1;
}

struct Listed {
  const int64_t* chosen;
  TW_DEVICE int64_t operator()(int64_t row, int64_t) const { return chosen[row]; }
};

void sort_kernel(KernelContext& k) {
  const auto& a = k.attrs<ops::SortAttrs>();
  take_sorted(k, a.dim, a.descending, [](const auto&) { return InOrder(); });
}

void topk_kernel(KernelContext& k) {
  const auto& a = k.attrs<ops::TopkAttrs>();
  int64_t rank = k.in(0).rank(), length = rank ? k.in(0).size(wrap_dim(a.dim, rank, k.op)) : 1;
  if (length <= kBlockRow || a.k > kBlockRow)
    return take_sorted(k, a.dim, a.largest, [](const auto&) { return InOrder(); });
  with_keys(k, a.dim, a.largest, [&]<class T>(const Rows<3>& rows, auto& keys) {
    FrontRows front(keys, a.k, OrderKey<T>::kBits, k.op);
    take_places<T>(k, rows, front.places());
  });
}

void kthvalue_kernel(KernelContext& k) {
  const auto& a = k.attrs<ops::KthAttrs>();
  take_sorted(k, a.dim, false, [&](const auto&) { return Fixed{a.k - 1}; });
}

template <bool kSkipNan>
void median_kernel(KernelContext& k) {
  take_sorted(k, k.attrs<ops::DimKeepAttrs>().dim, false,
              []<class T>(const SortedKeys<T>& sorted) { return Median<T, kSkipNan>{sorted}; });
}

void mode_dim_kernel(KernelContext& k) {
  int64_t rows = k.out(0).count();
  DeviceScratch chosen(static_cast<size_t>(rows) * sizeof(int64_t));
  take_sorted(k, k.attrs<ops::DimKeepAttrs>().dim, false, [&]<class T>(const SortedKeys<T>& sorted) {
    launch(k.op, mode_kernel<T>, {static_cast<unsigned>(rows), kSortThreads}, sorted, chosen.as<int64_t>());
    return Listed{chosen.as<const int64_t>()};
  });
}

}  // namespace

void kernels_sort(device::KernelTable& table) {
  table.add("sort", sort_kernel);
  table.add("topk", topk_kernel);
  table.add("kthvalue", kthvalue_kernel);
  table.add("median_dim", median_kernel<false>);
  table.add("nanmedian_dim", median_kernel<true>);
  table.add("mode", mode_dim_kernel);
}

}  // namespace tw::cuda
