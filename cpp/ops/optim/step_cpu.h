// The loop that all optimizer steps share: one pass over parameters, gradients and states, each element by
// itself.
//
//   run_step<1>(k, [&]<class T>(int tensor) { return LionFormula<T>::of(a); });
//
// run_step<n> takes the params and n states as written. The factory is called once for each chunk, with T
// float or double, and gives the element's formula (moments_formula.h). Floor: read p, g and s, write p and s
// (AdamW of float32: 28 bytes an element).
#pragma once

#include <array>
#include <utility>

#include "device/cpu/clones.h"
#include "device/cpu/tensor_lists.h"

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

// `params` says which of the op's lists take part: params, grads, states.
template <int kStates, class Factory>
void run_step(device::KernelContext& k, const std::array<int, 2 + kStates>& params, const Factory& factory) {
  std::array<std::span<const device::Operand>, 2 + kStates> lists;
  for (int j = 0; j < 2 + kStates; j++) lists[j] = k.list(params[j]);
  device::TensorLists walk(lists);
  constexpr unsigned all_but_grads = ((1u << (2 + kStates)) - 1) & ~2u;
  walk.run(all_but_grads, [&](const device::TensorLists::Chunk& chunk, void* const* data) {
    dispatch_full_float(walk.compute_dtype(chunk.tuple), k.op, [&]<class T>() {
      step_leaf<T>(chunk.count, factory.template operator()<T>(chunk.tuple), data,
                   std::make_index_sequence<kStates>{});
    });
  });
}

template <int kStates, class Factory>
void run_step(device::KernelContext& k, const Factory& factory) {
  std::array<int, 2 + kStates> first;
  for (int j = 0; j < 2 + kStates; j++) first[j] = j;
  run_step<kStates>(k, first, factory);
}

}  // namespace

}  // namespace tw::ops
