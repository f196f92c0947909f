// Shape and dtype inference: sees dtypes, shapes and attributes, never values.
#pragma once

#include <span>

#include "ir/value.h"

namespace tw::ir {

class InferContext {
 public:
  const char* op = "";
  std::span<const ValueImpl* const>
      inputs;  // in schema order, lists flattened; null where an optional one is absent
  std::span<const int> input_starts;  // only for ops with lists: see KernelContext
  const void* attributes = nullptr;
  SmallVector<Meta, 2> outputs;

  const ValueImpl& in(int i) const { return *inputs[i]; }
  bool has(int i) const { return inputs[i] != nullptr; }
  std::span<const ValueImpl* const> list(int param) const {
    return inputs.subspan(input_starts[param], input_starts[param + 1] - input_starts[param]);
  }
  // The operand of tensor parameter `param` in an op that also has lists.
  const ValueImpl& param(int param) const { return *inputs[input_starts[param]]; }
  template <class A>
  const A& attrs() const {
    return *static_cast<const A*>(attributes);
  }
  void output(DType dtype, Dims sizes) { outputs.push_back({dtype, std::move(sizes)}); }
};

using InferFn = void (*)(InferContext&);

// Rules that many ops share.
void infer_same(InferContext& c);       // output 0 is like input 0
void infer_broadcast(InferContext& c);  // all inputs broadcast together; dtype of input 0
void infer_compare(InferContext& c);    // the same, dtype bool
void infer_predicate(InferContext& c);  // like input 0, dtype bool

}  // namespace tw::ir
