// What the definitions of multi-tensor ops share: lists of equal length whose i-th tensors belong together.
#pragma once

#include <algorithm>
#include <utility>

#include "ir/infer.h"
#include "ir/op_def.h"
#include "sbp/sbp.h"

namespace tw::ops {

inline void check_floats(const ir::InferContext& c, std::span<const ir::ValueImpl* const> tensors) {
  for (const ir::ValueImpl* tensor : tensors)
    TW_CHECK(is_float(tensor->dtype), kType, c.op, ": floating tensors are wanted, got ", tensor->dtype);
}

// (params, grads, states...): the i-th tensors have one shape. Trailing lists may be empty, all others are as
// long as the first. State may be wider than its parameter.
inline void infer_step(ir::InferContext& c) {
  auto params = c.list(0);
  check_floats(c, c.inputs);
  for (int j = 1; j + 1 < static_cast<int>(c.input_starts.size()); j++) {
    auto list = c.list(j);
    if (j >= 2 && list.empty()) continue;
    TW_CHECK(list.size() == params.size(), kValue, c.op, ": lists of ", params.size(),
             " tensors are wanted, got ", list.size(), " in list ", j);
    for (size_t i = 0; i < list.size(); i++)
      TW_CHECK(list[i]->sizes == params[i]->sizes, kValue, c.op, ": tensors of the parameter's shape ",
               params[i]->sizes, " are wanted, got ", list[i]->sizes, " in list ", j);
  }
}

// Adds the signatures of an op that works element by element: every tensor split at the same dim, those that
// lack it whole on every rank.
inline void sbp_tuples(sbp::RuleContext& c) {
  size_t most = 0;
  for (const Dims& sizes : c.inputs) most = std::max<size_t>(most, sizes.size());
  for (size_t dim = 0; dim < most; dim++) {
    sbp::Signature signature;
    for (const Dims& sizes : c.inputs)
      signature.inputs.push_back(dim < sizes.size() ? sbp::split(static_cast<int64_t>(dim))
                                                    : sbp::broadcast());
    c.add(std::move(signature));
  }
}

// `kFlops` for each element of each operand; everything is read, and most of it written.
template <int kFlops>
ir::Cost multi_tensor_cost(const ir::CostContext& c) {
  double elements = 0;
  for (const ir::Meta& meta : c.inputs) elements += static_cast<double>(numel(meta.sizes));
  return {kFlops * elements, 2 * c.bytes(), 0};
}

}  // namespace tw::ops
