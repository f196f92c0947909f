// What the definitions of reductions share: the reduced dims, the output's shape, SBP.
#pragma once

#include "ir/emitter.h"
#include "ops/reduction/reduction.h"

namespace tw::ops {

// The dims to reduce, wrapped; all of them for none or an empty list.
inline Dims reduced_dims(const std::optional<IntList>& dim, int64_t rank, const char* op) {
  if (dim && !dim->empty()) return wrap_dims(*dim, rank, op);
  Dims all;
  for (int64_t i = 0; i < rank; i++) all.push_back(i);
  return all;
}

inline Dims reduced_sizes(const Dims& sizes, const std::optional<IntList>& dim, bool keepdim,
                          const char* op) {
  Dims dims = reduced_dims(dim, static_cast<int64_t>(sizes.size()), op);
  Dims result;
  for (size_t i = 0; i < sizes.size(); i++) {
    bool reduced = std::find(dims.begin(), dims.end(), static_cast<int64_t>(i)) != dims.end();
    if (!reduced)
      result.push_back(sizes[i]);
    else if (keepdim)
      result.push_back(1);
  }
  return result;
}

// Brings a reduced value (or its gradient) back to `sizes`, by size-1 dims and expansion.
inline ir::Value unreduce(const ir::Value& value, const Dims& sizes, const std::optional<IntList>& dim,
                          bool keepdim, const char* op) {
  ir::Value kept = value;
  if (!keepdim) kept = ir::op<"reshape">(value, reduced_sizes(sizes, dim, true, op));
  return ir::op<"expand">(kept, sizes);
}

// Splits of kept dims pass through; a split of a reduced dim leaves `pending` to be reduced.
template <class A>
void add_reduction_splits(sbp::RuleContext& c, const char* op, std::optional<sbp::ReduceOp> pending) {
  int64_t rank = static_cast<int64_t>(c.inputs[0].size()), position = 0;
  Dims dims = reduced_dims(c.attrs<A>().dim, rank, op);
  for (int64_t dim = 0; dim < rank; dim++) {
    bool reduced = std::find(dims.begin(), dims.end(), dim) != dims.end();
    std::vector<sbp::Sbp> outputs(c.outputs.size(), reduced
                                                        ? sbp::partial(pending.value_or(sbp::ReduceOp::kSum))
                                                        : sbp::split(position));
    if (!reduced || pending) c.add({{sbp::split(dim)}, outputs});
    if (!reduced || c.attrs<A>().keepdim) position++;
  }
}

}  // namespace tw::ops
