// Two passes, because the norms of a whole tensor scale each of its elements. The first updates the moments
// and sums p² and u² by chunk; the second makes u again from the moments rather than keep it. Floor: 28 + 16
// bytes an element of float32.
#include <vector>

#include "device/cpu/reduce.h"
#include "ops/optim/lamb_step_formula.h"
#include "ops/optim/step_cpu.h"

namespace tw::ops {

using namespace device;

namespace {

// The moments of a chunk, then Σ p² and Σ u².
template <class T>
TW_CLONES __attribute__((flatten)) LambSquares lamb_moments(int64_t n, const LambFormula<T>& given,
                                                            void* const* data) {
  const LambFormula<T> r = given;
  auto* param = static_cast<const T*>(data[0]);
  auto* grad = static_cast<const T*>(data[1]);
  auto* mean = static_cast<T*>(data[2]);
  auto* square = static_cast<T*>(data[3]);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; i++) r.add(grad[i], mean[i], square[i]);
  auto add = [](T a, T b) { return a + b; };
  T params = reduce_span(n, T(0), [&](int64_t i) { return param[i] * param[i]; }, add);
  T updates = reduce_span(
      n, T(0),
      [&](int64_t i) {
        T u = r.update(param[i], mean[i], square[i]);
        return u * u;
      },
      add);
  return {static_cast<double>(params), static_cast<double>(updates)};
}

template <class T>
TW_CLONES __attribute__((flatten)) void lamb_move(int64_t n, const LambFormula<T>& given, T rate,
                                                  void* const* data) {
  const LambFormula<T> r = given;
  auto* param = static_cast<T*>(data[0]);
  auto* mean = static_cast<const T*>(data[1]);
  auto* square = static_cast<const T*>(data[2]);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; i++) r.move(rate, param[i], mean[i], square[i]);
}

// What each tensor's step is scaled by.
std::vector<double> rates(const TensorLists& walk, const std::vector<LambSquares>& sums, double lr) {
  std::vector<double> result;
  for (int i = 0; i < walk.tuples(); i++) {
    LambSquares total;
    for (int64_t j = walk.first_chunk(i); j < walk.first_chunk(i + 1); j++) total.add(sums[j]);
    result.push_back(total.rate(lr));
  }
  return result;
}

void lamb_step_kernel(KernelContext& k) {
  const auto& a = k.attrs<LambAttrs>();
  const std::span<const Operand> lists[] = {k.list(0), k.list(1), k.list(2), k.list(3)};
  TensorLists moments(lists);
  std::vector<LambSquares> sums(moments.chunks());
  moments.run(0b1100, [&](const TensorLists::Chunk& chunk, void* const* data) {
    dispatch_full_float(moments.compute_dtype(chunk.tuple), k.op, [&]<class T>() {
      sums[chunk.number] = lamb_moments<T>(chunk.count, LambFormula<T>::of(a, chunk.tuple), data);
    });
  });
  std::vector<double> rate = rates(moments, sums, a.lr);
  const std::span<const Operand> moved[] = {k.list(0), k.list(2), k.list(3)};
  TensorLists params(moved);
  params.run(0b001, [&](const TensorLists::Chunk& chunk, void* const* data) {
    dispatch_full_float(params.compute_dtype(chunk.tuple), k.op, [&]<class T>() {
      lamb_move<T>(chunk.count, LambFormula<T>::of(a, chunk.tuple), T(rate[chunk.tuple]), data);
    });
  });
}

}  // namespace

void kernels_lamb_step(KernelTable& table) { table.add("lamb_step", lamb_step_kernel); }

}  // namespace tw::ops
