// Makes kernels of the optimizer steps that a list names, add_<stem> at the end of <stem>_formula.h, for the
// device whose loop over lists of tensors it is given: CpuStepLoop (step_cpu.h) or CudaStepLoop
// (cuda/common/tensor_lists.h).
//
//   ops.add("lion_step", [](const auto& step) {
//     const auto& a = step.template attrs<LionAttrs>();
//     step.template over<1>([&]<class C>(int) { return LionFormula<C>::of(a); });
//   });
#pragma once

#include <array>

#include "device/kernel.h"

namespace tw::ops {

// A call: parameters, gradients and states, of which all but the gradients are written.
template <class Loop>
class OptimizerStep {
 public:
  explicit OptimizerStep(device::KernelContext& k) : k_(k) {}
  template <class A>
  const A& attrs() const {
    return k_.attrs<A>();
  }
  bool has(int list) const { return !k_.list(list).empty(); }

  // `lists`: which of the op's lists take part. factory<C>(tensor) gives the formula (moments_formula.h) that
  // computes in C.
  template <int kStates, class Factory>
  void over(const std::array<int, 2 + kStates>& lists, const Factory& factory) const {
    Loop::template run<kStates>(k_, lists, factory);
  }
  // The first ones.
  template <int kStates, class Factory>
  void over(const Factory& factory) const {
    std::array<int, 2 + kStates> lists;
    for (int j = 0; j < 2 + kStates; j++) lists[j] = j;
    over<kStates>(lists, factory);
  }

 private:
  device::KernelContext& k_;
};

template <class Loop>
class StepOps {
 public:
  explicit StepOps(device::KernelTable& table) : table_(table) {}
  template <class F>
  void add(const char* op, F) {
    table_.add(op, [](device::KernelContext& k) { F()(OptimizerStep<Loop>(k)); });
  }

 private:
  device::KernelTable& table_;
};

}  // namespace tw::ops
