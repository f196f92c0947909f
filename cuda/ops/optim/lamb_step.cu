// lamb_step over lists of tensors, in three launches. The first updates the moments, and sums p² and u² by
// block; the second makes each tensor's rate of its blocks' sums; the third makes u again from the moments
// rather than keep it. 24 + 16 bytes an element of float32, some 25 flops. Floor: bytes over the bandwidth.
//
// Per element: 40 bytes and 25 operations (lamb_step, float32).
#include "cuda/common/tensor_lists.h"
#include "cuda/common/warp.h"
#include "ops/optim/lamb_step_formula.h"

namespace tw::cuda {

using device::KernelContext;
using device::Operand;
using ops::LambFormula;
using ops::LambSquares;

namespace {

template <class C>
using Batch = TupleBatch<C, LambFormula<C>, 4>;

enum List { kParam, kGrad, kMean, kSquare };

template <class C>
TW_DEVICE C value_of(const Batch<C>& batch, int tuple, List list, int64_t i) {
  return load_as<C>(batch.data[tuple][list], batch.dtypes[tuple][list], i);
}
template <class C>
TW_DEVICE void set_value(const Batch<C>& batch, int tuple, List list, int64_t i, C value) {
  store_as(batch.data[tuple][list], batch.dtypes[tuple][list], i, value);
}

// In thread 0, those of all threads of the block.
TW_DEVICE LambSquares of_block(const LambSquares& own) {
  auto plus = [](double a, double b) { return a + b; };
  return {block_reduce<kListThreads>(own.param, 0.0, plus),
          block_reduce<kListThreads>(own.update, 0.0, plus)};
}

template <class C>
__global__ void __launch_bounds__(kListThreads) lamb_moments_kernel(Batch<C> batch, LambSquares* parts) {
  auto [t, first, last] = chunk_of_block(batch);
  const LambFormula<C>& formula = batch.rules[t];
  LambSquares sums;
  for (int64_t i = first + threadIdx.x; i < last; i += kListThreads) {
    C param = value_of(batch, t, kParam, i), mean = value_of(batch, t, kMean, i),
      square = value_of(batch, t, kSquare, i);
    formula.add(value_of(batch, t, kGrad, i), mean, square);
    set_value(batch, t, kMean, i, mean);
    set_value(batch, t, kSquare, i, square);
    C update = formula.update(param, mean, square);
    sums.add({static_cast<double>(param * param), static_cast<double>(update * update)});
  }
  sums = of_block(sums);
  if (threadIdx.x == 0) parts[blockIdx.x] = sums;
}

// A block a tensor.
template <class C>
__global__ void __launch_bounds__(kListThreads)
    lamb_rates_kernel(Batch<C> batch, const LambSquares* parts, double lr, double* rates) {
  LambSquares sums;
  unsigned last = batch.first_block[blockIdx.x + 1];
  for (unsigned p = batch.first_block[blockIdx.x] + threadIdx.x; p < last; p += kListThreads)
    sums.add(parts[p]);
  sums = of_block(sums);
  if (threadIdx.x == 0) rates[blockIdx.x] = sums.rate(lr);
}

template <class C>
__global__ void __launch_bounds__(kListThreads) lamb_move_kernel(Batch<C> batch, const double* rates) {
  auto [t, first, last] = chunk_of_block(batch);
  auto rate = static_cast<C>(rates[t]);
  for (int64_t i = first + threadIdx.x; i < last; i += kListThreads) {
    C param = value_of(batch, t, kParam, i);
    batch.rules[t].move(rate, param, value_of(batch, t, kMean, i), value_of(batch, t, kSquare, i));
    set_value(batch, t, kParam, i, param);
  }
}

void lamb_step_kernel(KernelContext& k) {
  const auto& a = k.attrs<ops::LambAttrs>();
  const std::span<const Operand> lists[] = {k.list(0), k.list(1), k.list(2), k.list(3)};
  dispatch_full_float(widest_of(lists), k.op, [&]<class C>() {
    auto formula = [&](int tensor) { return LambFormula<C>::of(a, tensor); };
    for_batches<C>(k.op, lists, 0b1101, formula, [&](const Batch<C>& batch) {
      unsigned blocks = batch.first_block[batch.tuples], tensors = static_cast<unsigned>(batch.tuples);
      DeviceScratch parts(blocks * sizeof(LambSquares)), rates(tensors * sizeof(double));
      launch(k.op, lamb_moments_kernel<C>, {blocks, kListThreads}, batch, parts.as<LambSquares>());
      launch(k.op, lamb_rates_kernel<C>, {tensors, kListThreads}, batch, parts.as<const LambSquares>(), a.lr,
             rates.as<double>());
      launch(k.op, lamb_move_kernel<C>, {blocks, kListThreads}, batch, rates.as<const double>());
    });
  });
}

}  // namespace

void kernels_lamb_step(device::KernelTable& table) { table.add("lamb_step", lamb_step_kernel); }

}  // namespace tw::cuda
