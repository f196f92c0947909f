// What the definitions of ops along one dim share (softmax, scans, sorts): attributes, SBP, shifts.
#pragma once

#include "ir/emitter.h"
#include "ops/reduction/reduction.h"

namespace tw::ops {

// Any dim but the attribute `dim` may be split, for every operand that has the rank of input 0.
template <class A>
void sbp_other_dims_of(sbp::RuleContext& c) {
  int64_t rank = static_cast<int64_t>(c.inputs[0].size());
  if (rank == 0) return;
  int64_t along = wrap_dim(c.attrs<A>().dim, rank, "sbp");
  for (int64_t dim = 0; dim < rank; dim++) {
    if (dim == along) continue;
    sbp::Signature signature = c.all_broadcast();
    for (size_t i = 0; i < c.inputs.size(); i++)
      if (c.present[i] && static_cast<int64_t>(c.inputs[i].size()) == rank)
        signature.inputs[i] = sbp::split(dim);
    for (size_t i = 0; i < c.outputs.size(); i++) {
      bool kept = static_cast<int64_t>(c.outputs[i].size()) == rank;
      signature.outputs[i] = sbp::split(kept || dim < along ? dim : dim - 1);
    }
    c.add(std::move(signature));
  }
}

inline ir::Value op_zeros_like(const ir::Value& x) { return ir::op<"full">(x->sizes, 0, x->dtype); }
inline ir::Value op_ones_like(const ir::Value& x) { return ir::op<"full">(x->sizes, 1, x->dtype); }

// Moves the elements of `dim` by one place up (towards larger indices) or down; zeros come in.
inline ir::Value shift_by_one(const ir::Value& x, int64_t dim, bool up) {
  if (x->rank() == 0) return op_zeros_like(x);
  int64_t n = x->size(dim);
  if (n == 0) return x;
  int64_t from = up ? 0 : 1, to = up ? 1 : 0;
  ir::Value kept = ir::op<"slice">(x, dim, from, from + n - 1, 1);
  return ir::op<"slice_scatter_zeros">(kept, x->sizes, dim, to, to + n - 1, 1);
}

}  // namespace tw::ops
