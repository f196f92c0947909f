// embedding_lookup, embedding_backward, embedding_renorm. Forward reads the rows that are looked up and
// writes them. Backward zeroes the gradient, sorts the indices and adds the rows of each in their order
// (common/fold_places.h), in float for the half types. renorm sorts them too, and a warp scales a row. Floor:
// the rows once, the result once, over the bandwidth. Indices that are no row are an error, which the
// next to wait for the device is told.
//
// Per element: 8 bytes and 5 operations (embedding, float32).
#include "ops/indexing/embedding.h"

#include <bit>
#include <cmath>

#include "cuda/common/dense.h"
#include "cuda/common/fold_places.h"
#include "cuda/common/mistakes.h"
#include "cuda/common/row_values.h"

namespace tw::cuda {

using device::KernelContext;
using device::Operand;

namespace {

constexpr int kThreads = block_threads(256);

void no_row(const char*, int64_t index, int64_t rows) {
  TW_FAIL(kIndex, "embedding: index ", index, " is out of bounds for a table of ", rows, " rows");
}

// The rows of a part of a table: indices name rows of the whole.
struct Table {
  int64_t count, width;  // indices, elements of a row
  int64_t rows, first_row, whole_rows;
  const int64_t* indices;
  MistakeNote wrong;

  TW_DEVICE void check(int64_t index) const {
    if (index < 0 || index >= whole_rows) wrong(index, whole_rows);
  }
};

// A thread moves a pack of a row, or one element, `step` from the next; rows of other parts give zeros.
template <class T, int kPack>
__global__ void __launch_bounds__(kThreads)
    lookup_rows(Table t, const T* weight, int64_t pitch, int64_t step, T* out) {
  int64_t packs = t.width / kPack, task = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (task >= t.count * packs) return;
  int64_t index = t.indices[task / packs], column = task % packs * kPack;
  t.check(index);
  index -= t.first_row;
  Pack<T, kPack> pack{};
  if (index >= 0 && index < t.rows) {
    const T* row = weight + index * pitch;
    if constexpr (kPack == 1)
      pack.at[0] = row[column * step];
    else
      pack = load_pack<kPack>(row + column);
  }
  store_pack(out + task / packs * t.width + column, pack);
}

Table table_of(const Operand& indices, const int64_t* values, int64_t rows, int64_t width, int64_t first_row,
               int64_t whole_rows, const char* op) {
  return {indices.count(),         width, rows, first_row, whole_rows < 0 ? rows : whole_rows, values,
          mistake_note(op, no_row)};
}

unsigned blocks_for(int64_t tasks) { return static_cast<unsigned>((tasks + kThreads - 1) / kThreads); }

void lookup_kernel(KernelContext& k) {
  const auto& a = k.attrs<ops::EmbeddingAttrs>();
  const Operand& weight = k.in(0);
  if (k.out().count() == 0) return;
  Dense<int64_t> indices(k.in(1), k.op);
  Table t =
      table_of(k.in(1), indices.data(), weight.size(0), weight.size(1), a.first_row, a.whole_rows, k.op);
  dispatch_bytes(weight.dtype, [&]<class T>() {
    constexpr int kPack = pack_count(sizeof(T));
    bool packed = weight.stride(1) == 1 && t.width % kPack == 0 && weight.stride(0) % kPack == 0 &&
                  is_aligned(weight.data);
    launch(k.op, packed ? lookup_rows<T, kPack> : lookup_rows<T, 1>,
           {blocks_for(t.count * t.width / (packed ? kPack : 1)), kThreads}, t, weight.as<const T>(),
           weight.stride(0), weight.stride(1), k.out().as<T>());
  });
}

// The row of each index as a key to sort by, `rows` where no row of this part gets a gradient.
__global__ void __launch_bounds__(kThreads) row_keys_kernel(Table t, int64_t padding, uint32_t* keys) {
  int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= t.count) return;
  int64_t row = t.indices[i] - t.first_row;
  keys[i] = static_cast<uint32_t>(row < 0 || row >= t.rows || row == padding ? t.rows : row);
}

// Each row of the sums is divided by how often it was read.
template <class C>
__global__ void __launch_bounds__(kThreads) divide_rows_kernel(PlaceLists<uint32_t> lists, C* sums) {
  int64_t task = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (task >= lists.count * lists.columns) return;
  int64_t s = task / lists.columns, column = task % lists.columns;
  uint32_t row = lists.keys[s];
  if (row >= lists.limit || (s > 0 && lists.keys[s - 1] == row)) return;
  int64_t end = count_below(lists.keys, s, lists.count, row + 1);
  sums[row * lists.columns + column] /= static_cast<C>(end - s);
}

struct RowMap {
  char* sums;
  const char* grad;
  int64_t width, sum_bytes, grad_bytes;
  TW_DEVICE char* to(int64_t, uint32_t row, uint32_t, int64_t column) const {
    return sums + (row * width + column) * sum_bytes;
  }
  TW_DEVICE const char* from(int64_t, uint32_t place, int64_t column) const {
    return grad + (place * width + column) * grad_bytes;
  }
};

// The rows that are read, sorted.
SortedRows<uint32_t> sort_rows(const Table& t, int64_t padding, const char* op) {
  SortedRows<uint32_t> sorted(1, t.count, op);
  launch(op, row_keys_kernel, {blocks_for(t.count), kThreads}, t, padding, sorted.keys());
  sorted.sort(std::bit_width(static_cast<uint64_t>(t.rows)));
  return sorted;
}

template <class T>
void backward(KernelContext& k) {
  using C = compute_t<T>;
  const auto& a = k.attrs<ops::EmbeddingBackwardAttrs>();
  const Operand& out = k.out();
  Dense<T> grad(k.in(0), k.op);
  Dense<int64_t> indices(k.in(1), k.op);
  Table t = table_of(k.in(1), indices.data(), a.num_weights, out.size(1), a.first_row, a.whole_rows, k.op);
  constexpr bool kDirect = std::is_same_v<C, T>;
  size_t count = static_cast<size_t>(out.count());
  DeviceScratch wide(kDirect ? 0 : count * sizeof(C));
  C* sums = kDirect ? out.as<C>() : wide.as<C>();
  if (count) check(cudaMemsetAsync(sums, 0, count * sizeof(C), current_stream()), k.op);
  if (t.count) {
    SortedRows<uint32_t> sorted = sort_rows(t, a.padding_idx, k.op);
    auto lists = place_lists(sorted, static_cast<uint32_t>(t.rows));
    lists.columns = t.width;
    RowMap map{reinterpret_cast<char*>(sums), reinterpret_cast<const char*>(grad.data()), t.width, sizeof(C),
               sizeof(T)};
    fold_places(k.op, lists, map, Folding{Fold::kSum, false, dtype_of<C>, dtype_of<T>});
    if (a.scale_grad_by_freq)
      launch(k.op, divide_rows_kernel<C>, {blocks_for(t.count * t.width), kThreads}, lists, sums);
  }
  if constexpr (!kDirect) copy_cast(out, {sums, out.sizes, out.strides, dtype_of<C>}, k.op);
}

void backward_kernel(KernelContext& k) {
  dispatch_float(k.out().dtype, k.op, [&]<class T>() { backward<T>(k); });
}

// A warp a sorted index: the first of each row scales it to the norm allowed.
template <class T>
__global__ void __launch_bounds__(kThreads)
    renorm_kernel(PlaceLists<uint32_t> lists, stored_t<T>* table, int64_t pitch, int64_t step, int64_t width,
                  double power, double most) {
  int64_t s = static_cast<int64_t>(blockIdx.x) * (kThreads / kLanes) + warp_index();
  bool first =
      s < lists.count && lists.keys[s] < lists.limit && (s == 0 || lists.keys[s - 1] != lists.keys[s]);
  if (!first) return;
  stored_t<T>* row = table + lists.keys[s] * pitch;
  double norm = 0;
  for (int64_t c = lane_index(); c < width; c += kLanes) {
    double x = std::fabs(static_cast<double>(load<T>(row[c * step])));
    if (std::isinf(power))
      norm = x > norm ? x : norm;
    else
      norm += power == 2 ? x * x : power == 1 ? x : std::pow(x, power);
  }
  if (std::isinf(power))
    norm = warp_reduce(norm, Larger());
  else
    norm = warp_reduce(norm, Plus());
  if (!std::isinf(power)) norm = power == 2 ? std::sqrt(norm) : power == 1 ? norm : std::pow(norm, 1 / power);
  if (norm <= most) return;
  auto factor = static_cast<compute_t<T>>(most / (norm + 1e-7));
  for (int64_t c = lane_index(); c < width; c += kLanes)
    row[c * step] = store<T>(load<T>(row[c * step]) * factor);
}

__global__ void __launch_bounds__(kThreads) check_rows_kernel(Table t) {
  int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i < t.count) t.check(t.indices[i]);
}

void renorm(KernelContext& k) {
  const auto& a = k.attrs<ops::RenormAttrs>();
  const Operand& out = k.out();
  Dense<int64_t> indices(k.in(1), k.op);
  Table t = table_of(k.in(1), indices.data(), out.size(0), out.size(1), 0, -1, k.op);
  launch(k.op, check_rows_kernel, {blocks_for(t.count), kThreads}, t);
  if (out.data != k.in(0).data) copy_cast(out, k.in(0), k.op);
  if (t.count == 0) return;
  SortedRows<uint32_t> sorted = sort_rows(t, -1, k.op);
  dispatch_float(out.dtype, k.op, [&]<class T>() {
    launch(k.op, renorm_kernel<T>, {blocks_for(t.count * kLanes), kThreads},
           place_lists(sorted, static_cast<uint32_t>(t.rows)), out.as<stored_t<T>>(), out.stride(0),
           out.stride(1), t.width, a.norm_type, a.max_norm);
  });
}

}  // namespace

void kernels_embedding(device::KernelTable& table) {
  table.add("embedding_lookup", lookup_kernel);
  table.add("embedding_backward", backward_kernel);
  table.add("embedding_renorm", renorm);
}

}  // namespace tw::cuda
