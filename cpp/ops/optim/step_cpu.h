// The loop of the CPU that all optimizer steps share: one pass over parameters, gradients and states, each
// element by itself. The formula is made once for each chunk, for T float or double. Floor: read p, g and s,
// write p and s (AdamW of float32: 28 bytes an element).
#pragma once

#include <array>
#include <utility>

#include "device/cpu/clones.h"
#include "device/cpu/tensor_lists.h"
#include "ops/optim/step_ops.h"

namespace tw::ops {

namespace {

template <class T, class F, class... State>
TW_INLINE void update_elements(int64_t n, const F& f, T* param, const T* grad, State*... states) {
  // The arrays do not overlap.
#pragma GCC ivdep
  for (int64_t i = 0; i < n; i++) f(param[i], grad[i], states[i]...);
}

template <class T, class F, size_t... I>
TW_CLONES __attribute__((flatten)) void step_leaf(int64_t n, const F& given, void* const* data,
                                                  std::index_sequence<I...>) {
  const F f = given;
  update_elements(n, f, static_cast<T*>(data[0]), static_cast<const T*>(data[1]),
                  static_cast<T*>(data[2 + I])...);
}

struct CpuStepLoop {
  template <int kStates, class Factory>
  static void run(device::KernelContext& k, const std::array<int, 2 + kStates>& which,
                  const Factory& factory) {
    std::array<std::span<const device::Operand>, 2 + kStates> lists;
    for (int j = 0; j < 2 + kStates; j++) lists[j] = k.list(which[j]);
    device::TensorLists walk(lists);
    constexpr unsigned all_but_grads = ((1u << (2 + kStates)) - 1) & ~2u;
    walk.run(all_but_grads, [&](const device::TensorLists::Chunk& chunk, void* const* data) {
      dispatch_full_float(walk.compute_dtype(chunk.tuple), k.op, [&]<class T>() {
        step_leaf<T>(chunk.count, factory.template operator()<T>(chunk.tuple), data,
                     std::make_index_sequence<kStates>{});
      });
    });
  }
};

}  // namespace

}  // namespace tw::ops
