// dropout and its gradient: the elements that the CPU keeps. Forward reads x and writes y and a byte an
// element, backward reads g and that byte and writes the gradient. Floor: bytes over the bandwidth.
//
// Per element: 9 bytes and 30 operations (dropout, float32).
#include "ops/random/dropout.h"

#include "cuda/common/dense.h"
#include "cuda/common/part_index.h"
#include "cuda/common/philox.h"
#include "cuda/common/pointwise.h"
#include "ops/random/dropout_formula.h"

namespace tw::cuda {

using device::KernelContext;
using device::Operand;

namespace {

constexpr int kThreads = block_threads(256);

// Four elements by a thread.
template <class T>
__global__ void __launch_bounds__(kThreads)
    dropout_kernel(const stored_t<T>* in, stored_t<T>* out, uint8_t* kept, int64_t count, PhiloxKey key,
                   ops::DropoutFormula formula) {
  ops::KeepScaledFormula<compute_t<T>> scaled{static_cast<compute_t<T>>(formula.scale)};
  int64_t block = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x, first = 4 * block;
  if (first >= count) return;
  Words words = random_words(key, static_cast<uint64_t>(block));
  TW_UNROLL
  for (int j = 0; j < 4; j++) {
    if (first + j >= count) break;
    bool keep = !formula.none && formula.keeps(words.at[j]);
    kept[first + j] = keep;
    out[first + j] = store<T>(scaled(load<T>(in[first + j]), keep));
  }
}

// Of a part of a larger tensor, an element by a thread.
template <class T>
__global__ void __launch_bounds__(kThreads)
    dropout_part_kernel(const stored_t<T>* in, stored_t<T>* out, uint8_t* kept, int64_t count, PartIndex part,
                        PhiloxKey key, ops::DropoutFormula formula) {
  ops::KeepScaledFormula<compute_t<T>> scaled{static_cast<compute_t<T>>(formula.scale)};
  int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= count) return;
  auto place = static_cast<uint64_t>(part.in_whole(i));
  Words words = random_words(key, place / 4);
  bool keep = false;
  TW_UNROLL
  for (int j = 0; j < 4; j++)
    if (place % 4 == static_cast<uint64_t>(j)) keep = !formula.none && formula.keeps(words.at[j]);
  kept[i] = keep;
  out[i] = store<T>(scaled(load<T>(in[i]), keep));
}

void forward_kernel(KernelContext& k) {
  const auto& a = k.attrs<ops::DropoutAttrs>();
  const Operand &out = k.out(0), &kept = k.out(1);
  if (out.count() == 0) return;
  dispatch_float(out.dtype, k.op, [&]<class T>() {
    // Elements are counted in row-major order, whatever the order in memory.
    Dense<T> in(k.in(0), k.op);
    DeviceScratch values(out.contiguous() ? 0 : static_cast<size_t>(out.count()) * sizeof(T));
    DeviceScratch mask(kept.contiguous() ? 0 : static_cast<size_t>(out.count()));
    void* to = out.contiguous() ? out.data : values.as<void>();
    void* to_mask = kept.contiguous() ? kept.data : mask.as<void>();
    auto* from = reinterpret_cast<const stored_t<T>*>(in.data());
    auto blocks = [&](int64_t each) {
      return static_cast<unsigned>((out.count() + kThreads * each - 1) / (kThreads * each));
    };
    auto formula = ops::DropoutFormula::of(a.p);
    if (a.part.empty())
      launch(k.op, dropout_kernel<T>, {blocks(4), kThreads}, from, static_cast<stored_t<T>*>(to),
             static_cast<uint8_t*>(to_mask), out.count(), a.key, formula);
    else
      launch(k.op, dropout_part_kernel<T>, {blocks(1), kThreads}, from, static_cast<stored_t<T>*>(to),
             static_cast<uint8_t*>(to_mask), out.count(), part_index(a.part, *out.sizes, false, k.op), a.key,
             formula);
    Dims strides = contiguous_strides(*out.sizes);
    if (to != out.data) copy_cast(out, {to, out.sizes, &strides, out.dtype}, k.op);
    if (to_mask != kept.data) copy_cast(kept, {to_mask, kept.sizes, &strides, kept.dtype}, k.op);
  });
}

void backward_kernel(KernelContext& k) {
  double scale = k.attrs<ops::DropoutBackwardAttrs>().scale;
  dispatch_float(k.out().dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    pointwise<T, bool, T>(k, ops::KeepScaledFormula<C>{static_cast<C>(scale)});
  });
}

}  // namespace

void kernels_dropout(device::KernelTable& table) {
  table.add("dropout_of", forward_kernel);
  table.add("dropout_backward", backward_kernel);
}

}  // namespace tw::cuda
