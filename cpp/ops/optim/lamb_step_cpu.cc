// Two passes, because the norms of a whole tensor scale each of its elements. The first updates the moments
// and sums p² and u² by chunk; the second makes u again from the moments rather than keep it. Floor: 28 + 16
// bytes an element of float32.
#include <cmath>
#include <vector>

#include "device/cpu/reduce.h"
#include "ops/optim/optim.h"
#include "ops/optim/step_cpu.h"

namespace tw::ops {

using namespace device;

namespace {

template <class T>
struct LambRule {
  T sign, take1, beta2, take2, mean_scale, root_scale, eps, decay;

  TW_INLINE T update(T param, T mean, T square) const {
    T u = mean * mean_scale / (std::sqrt(square) * root_scale + eps);
    return decay != 0 ? u + decay * param : u;
  }
};

struct Squares {
  double param, update;
};

// The moments of a chunk, then Σ p² and Σ u².
template <class T>
TW_CLONES __attribute__((flatten)) Squares lamb_moments(int64_t n, const LambRule<T>& given,
                                                        void* const* data) {
  const LambRule<T> r = given;
  auto* param = static_cast<const T*>(data[0]);
  auto* grad = static_cast<const T*>(data[1]);
  auto* mean = static_cast<T*>(data[2]);
  auto* square = static_cast<T*>(data[3]);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; i++) {
    T g = r.sign * grad[i];
    mean[i] += r.take1 * (g - mean[i]);
    square[i] = r.beta2 * square[i] + r.take2 * g * g;
  }
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
TW_CLONES __attribute__((flatten)) void lamb_move(int64_t n, const LambRule<T>& given, T rate,
                                                  void* const* data) {
  const LambRule<T> r = given;
  auto* param = static_cast<T*>(data[0]);
  auto* mean = static_cast<const T*>(data[1]);
  auto* square = static_cast<const T*>(data[2]);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; i++) param[i] -= rate * r.update(param[i], mean[i], square[i]);
}

template <class T>
LambRule<T> rule_of(const LambAttrs& a, int tensor) {
  double step = static_cast<double>(a.steps[tensor]);
  return {T(a.maximize ? -1 : 1),
          T(1 - a.beta1),
          T(a.beta2),
          T(1 - a.beta2),
          T(1 / (1 - std::pow(a.beta1, step))),
          T(1 / std::sqrt(1 - std::pow(a.beta2, step))),
          T(a.eps),
          T(a.weight_decay)};
}

// lr ‖p‖ / ‖u‖ of each tensor.
std::vector<double> rates(const TensorLists& walk, const std::vector<Squares>& sums, double lr) {
  std::vector<double> result;
  for (int i = 0; i < walk.tuples(); i++) {
    Squares total{0, 0};
    for (int64_t j = walk.first_chunk(i); j < walk.first_chunk(i + 1); j++)
      total = {total.param + sums[j].param, total.update + sums[j].update};
    bool scaled = total.param > 0 && total.update > 0;
    result.push_back(scaled ? lr * std::sqrt(total.param) / std::sqrt(total.update) : lr);
  }
  return result;
}

void lamb_step_kernel(KernelContext& k) {
  const auto& a = k.attrs<LambAttrs>();
  const std::span<const Operand> lists[] = {k.list(0), k.list(1), k.list(2), k.list(3)};
  TensorLists moments(lists);
  std::vector<Squares> sums(moments.chunks());
  moments.run(0b1100, [&](const TensorLists::Chunk& chunk, void* const* data) {
    dispatch_full_float(moments.compute_dtype(chunk.tuple), k.op, [&]<class T>() {
      sums[chunk.number] = lamb_moments<T>(chunk.count, rule_of<T>(a, chunk.tuple), data);
    });
  });
  std::vector<double> rate = rates(moments, sums, a.lr);
  const std::span<const Operand> moved[] = {k.list(0), k.list(2), k.list(3)};
  TensorLists params(moved);
  params.run(0b001, [&](const TensorLists::Chunk& chunk, void* const* data) {
    dispatch_full_float(params.compute_dtype(chunk.tuple), k.op, [&]<class T>() {
      lamb_move<T>(chunk.count, rule_of<T>(a, chunk.tuple), T(rate[chunk.tuple]), data);
    });
  });
}

}  // namespace

void kernels_lamb_step(KernelTable& table) { table.add("lamb_step", lamb_step_kernel); }

}  // namespace tw::ops
