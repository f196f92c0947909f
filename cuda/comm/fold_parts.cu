// fold_parts: out[i] = in[0][i] op in[1][i] op ..., in this order; half types in float, rounded once. What
// boxings do with contributions of several devices that have come to one; comm::reduce on the CPU.
//
// Bytes: every input and the output once; (inputs - 1) flops an element. Floor: bytes over the bandwidth.
//
// Per element: 12 bytes and 1 operation (two parts added, float32).
#include "base/error.h"
#include "comm/reduce.h"
#include "comm/reduction_formula.h"
#include "cuda/common/complex.h"
#include "cuda/common/element.h"
#include "cuda/common/launch.h"
#include "cuda/common/vector.h"
#include "device/kernel.h"

namespace tw::cuda {

using comm::FoldAttrs;
using comm::kMostFolded;
using comm::Reduction;
using device::KernelContext;
using device::Operand;

namespace {

inline constexpr int kThreads = block_threads(256);

struct FoldInputs {
  const void* at[kMostFolded];
  int count;
};

// The elements [first, first + kPack), or up to `count` one by one.
template <class T, int kPack, class Op>
TW_DEVICE void fold_pack(stored_t<T>* to, const FoldInputs& inputs, int64_t first, int64_t count) {
  auto of_input = [&](int k) { return static_cast<const stored_t<T>*>(inputs.at[k]); };
  if (first + kPack <= count) {
    auto next = load_pack<kPack>(of_input(0) + first);
    compute_t<T> folded[kPack];
    TW_UNROLL
    for (int j = 0; j < kPack; j++) folded[j] = load<T>(next.at[j]);
    for (int k = 1; k < inputs.count; k++) {
      next = load_pack<kPack>(of_input(k) + first);
      TW_UNROLL
      for (int j = 0; j < kPack; j++) folded[j] = Op::apply(folded[j], load<T>(next.at[j]));
    }
    Pack<stored_t<T>, kPack> out;
    TW_UNROLL
    for (int j = 0; j < kPack; j++) out.at[j] = store<T>(folded[j]);
    store_pack(to + first, out);
  } else {
    for (int64_t i = first; i < count; i++) {
      compute_t<T> folded = load<T>(of_input(0)[i]);
      for (int k = 1; k < inputs.count; k++) folded = Op::apply(folded, load<T>(of_input(k)[i]));
      to[i] = store<T>(folded);
    }
  }
}

// All threads take the branch of the reduction.
template <class T, int kPack>
__global__ void __launch_bounds__(kThreads)
    fold_kernel(stored_t<T>* to, FoldInputs inputs, Reduction reduction, int64_t packs, int64_t count) {
  int64_t pack = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x, first = pack * kPack;
  if (pack >= packs) return;
  if (reduction == Reduction::kSum) return fold_pack<T, kPack, comm::SumElements>(to, inputs, first, count);
  if (reduction == Reduction::kProd)
    return fold_pack<T, kPack, comm::MultiplyElements>(to, inputs, first, count);
  if constexpr (requires(compute_t<T> a) { a < a; }) {
    if (reduction == Reduction::kMin)
      return fold_pack<T, kPack, comm::LeastElement>(to, inputs, first, count);
    fold_pack<T, kPack, comm::LargestElement>(to, inputs, first, count);
  }
}

template <class T>
void fold(Reduction reduction, const KernelContext& k, const FoldInputs& inputs, bool aligned) {
  constexpr int kPack = pack_count(sizeof(stored_t<T>));
  int64_t count = k.out().count();
  int64_t packs = aligned ? (count + kPack - 1) / kPack : count;
  auto blocks = static_cast<unsigned>((packs + kThreads - 1) / kThreads);
  launch(k.op, aligned ? fold_kernel<T, kPack> : fold_kernel<T, 1>, {blocks, kThreads},
         k.out().as<stored_t<T>>(), inputs, reduction, packs, count);
}

void fold_parts(KernelContext& k) {
  const auto reduction = k.attrs<FoldAttrs>().reduction;
  const DType dtype = k.out().dtype;
  comm::check_reduction(dtype, reduction, k.op);
  TW_CHECK(k.inputs.size() <= static_cast<size_t>(kMostFolded), kNotImplemented, k.op, ": at most ",
           kMostFolded, " contributions can be folded on CUDA, got ", k.inputs.size());
  FoldInputs inputs{};
  inputs.count = static_cast<int>(k.inputs.size());
  bool aligned = is_aligned(k.out().data);
  for (int i = 0; i < inputs.count; i++) {
    inputs.at[i] = k.in(i).data;
    aligned = aligned && is_aligned(inputs.at[i]);
  }
  dispatch_elements(dtype, k.op, [&]<class T>() { fold<T>(reduction, k, inputs, aligned); });
}

}  // namespace

void kernels_fold_parts(device::KernelTable& table) { table.add("fold_parts", fold_parts); }

}  // namespace tw::cuda
