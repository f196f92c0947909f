// embedding_lookup and embedding_backward. Forward reads the rows that are looked up and writes them.
// Backward first zeroes the gradient, then adds each row with atomic sums, in float for the half types: the
// order of sums is not fixed. Floor: the rows once, the result once. Indices that are no row are an error,
// for which forward waits for the device.
#include "ops/indexing/embedding.h"

#include "cuda/common/atomic.h"
#include "cuda/common/dense.h"
#include "cuda/common/element.h"
#include "cuda/common/flag.h"
#include "cuda/common/vector.h"

namespace tw::cuda {

using device::KernelContext;
using device::Operand;

namespace {

constexpr int kThreads = block_threads(256);

// The rows of a part of a table: indices name rows of the whole.
struct Table {
  int64_t count, width;  // indices, elements of a row
  int64_t rows, first_row, whole_rows;
  const int64_t* indices;
  int* wrong;
};

// A thread moves a pack of a row; rows of other parts give zeros.
template <class T, int kPack>
__global__ void __launch_bounds__(kThreads) lookup_rows(Table t, const T* weight, int64_t pitch, T* out) {
  int64_t packs = t.width / kPack, task = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (task >= t.count * packs) return;
  int64_t index = t.indices[task / packs], column = task % packs * kPack;
  if (index < 0 || index >= t.whole_rows) raise_flag(t.wrong);
  index -= t.first_row;
  Pack<T, kPack> pack{};
  if (index >= 0 && index < t.rows) pack = load_pack<kPack>(weight + index * pitch + column);
  store_pack(out + task / packs * t.width + column, pack);
}

Table table_of(const Operand& indices, const int64_t* values, int64_t rows, int64_t width, int64_t first_row,
               int64_t whole_rows) {
  return {indices.count(), width, rows, first_row, whole_rows < 0 ? rows : whole_rows, values, nullptr};
}

unsigned blocks_for(int64_t tasks) { return static_cast<unsigned>((tasks + kThreads - 1) / kThreads); }

void lookup_kernel(KernelContext& k) {
  const auto& a = k.attrs<ops::EmbeddingAttrs>();
  const Operand& weight = k.in(0);
  if (k.out().count() == 0) return;
  Dense<int64_t> indices(k.in(1), k.op);
  Table t = table_of(k.in(1), indices.data(), weight.size(0), weight.size(1), a.first_row, a.whole_rows);
  DeviceFlag wrong;
  t.wrong = wrong.data();
  TW_CHECK(weight.stride(1) == 1 || t.width == 1, kNotImplemented, k.op,
           ": a table whose rows have gaps is not supported on CUDA; make it contiguous() first");
  dispatch_bytes(weight.dtype, [&]<class T>() {
    constexpr int kPack = pack_count(sizeof(T));
    bool packed = t.width % kPack == 0 && weight.stride(0) % kPack == 0 && is_aligned(weight.data);
    launch(k.op, packed ? lookup_rows<T, kPack> : lookup_rows<T, 1>,
           {blocks_for(t.count * t.width / (packed ? kPack : 1)), kThreads}, t, weight.as<const T>(),
           weight.stride(0), k.out().as<T>());
  });
  TW_CHECK(!wrong.raised(), kIndex, "embedding: an index is out of bounds for a table of ", t.whole_rows,
           " rows");
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    add_rows(Table t, const stored_t<T>* grad, const int64_t* counts, int64_t padding, compute_t<T>* sums) {
  using C = compute_t<T>;
  int64_t task = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (task >= t.count * t.width) return;
  int64_t row = t.indices[task / t.width] - t.first_row;
  if (row == padding || row < 0 || row >= t.rows) return;
  C value = load<T>(grad[task]);
  if (counts) value /= static_cast<C>(counts[row]);
  atomic_add(&sums[row * t.width + task % t.width], value);
}

__global__ void __launch_bounds__(kThreads) count_rows(Table t, int64_t* counts) {
  int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= t.count) return;
  int64_t row = t.indices[i] - t.first_row;
  if (row >= 0 && row < t.rows) atomic_add(&counts[row], int64_t{1});
}

void clear(void* data, size_t size_bytes, const char* op) {
  if (size_bytes) check(cudaMemsetAsync(data, 0, size_bytes, current_stream()), op);
}

template <class T>
void backward(KernelContext& k) {
  using C = compute_t<T>;
  const auto& a = k.attrs<ops::EmbeddingBackwardAttrs>();
  const Operand& out = k.out();
  Dense<T> grad(k.in(0), k.op);
  Dense<int64_t> indices(k.in(1), k.op);
  Table t = table_of(k.in(1), indices.data(), a.num_weights, out.size(1), a.first_row, a.whole_rows);
  constexpr bool kDirect = std::is_same_v<C, T>;
  size_t count = static_cast<size_t>(out.count());
  DeviceScratch wide(kDirect ? 0 : count * sizeof(C)),
      counts(a.scale_grad_by_freq ? t.rows * sizeof(int64_t) : 0);
  C* sums = kDirect ? out.as<C>() : wide.as<C>();
  clear(sums, count * sizeof(C), k.op);
  if (a.scale_grad_by_freq) {
    clear(counts.as<void>(), t.rows * sizeof(int64_t), k.op);
    launch(k.op, count_rows, {blocks_for(t.count), kThreads}, t, counts.as<int64_t>());
  }
  launch(k.op, add_rows<T>, {blocks_for(t.count * t.width), kThreads}, t,
         reinterpret_cast<const stored_t<T>*>(grad.data()),
         a.scale_grad_by_freq ? counts.as<const int64_t>() : nullptr, a.padding_idx, sums);
  if constexpr (!kDirect) copy_cast(out, {sums, out.sizes, out.strides, dtype_of<C>}, k.op);
}

void backward_kernel(KernelContext& k) {
  dispatch_float(k.out().dtype, k.op, [&]<class T>() { backward<T>(k); });
}

}  // namespace

void kernels_embedding(device::KernelTable& table) {
  table.add("embedding_lookup", lookup_kernel);
  table.add("embedding_backward", backward_kernel);
}

}  // namespace tw::cuda
