// Ops that pick one element of a dim and say where it stood (max_dim, median, kthvalue, mode): gradient and
// SBP. Their attributes have dim and keepdim, their outputs are (values, indices), and they save "indices".
#pragma once

#include "ir/emitter.h"
#include "ops/reduction/reduction.h"

namespace tw::ops {

// Zeros of `sizes` with `grad` added where `index` says along `dim`.
inline ir::Value add_at(const ir::Value& grad, const ir::Value& index, const Dims& sizes, int64_t dim) {
  if (sizes.empty()) return grad;
  return ir::op<"scatter_elements">(ir::op<"full">(sizes, 0, grad->dtype), dim, index, grad, "sum");
}

template <class A>
void selection_grad(ir::GradContext& c) {
  if (!c.grad()) return;
  const auto& a = c.attrs<A>();
  const Dims& sizes = c.input_meta(0).sizes;
  if (a.keepdim || sizes.empty()) return c.set(0, add_at(c.grad(), c.output(1), sizes, a.dim));
  int64_t dim = wrap_dim(a.dim, static_cast<int64_t>(sizes.size()), "select");
  c.set(0, add_at(ir::op<"unsqueeze">(c.grad(), dim), ir::op<"unsqueeze">(c.output(1), dim), sizes, dim));
}

template <class A>
void sbp_selection(sbp::RuleContext& c) {
  const auto& a = c.attrs<A>();
  int64_t rank = static_cast<int64_t>(c.inputs[0].size());
  if (rank == 0) return;
  int64_t along = wrap_dim(a.dim, rank, "sbp");
  for (int64_t dim = 0; dim < rank; dim++) {
    sbp::Sbp out = sbp::split(a.keepdim || dim < along ? dim : dim - 1);
    if (dim != along) c.add({{sbp::split(dim)}, {out, out}});
  }
}

// Sizes of the outputs; the dim must not be empty.
inline Dims selected_sizes(const ir::ValueImpl& x, int64_t dim, bool keepdim, const char* op) {
  dim = wrap_dim(dim, x.rank(), op);
  if (x.rank() == 0) return {};
  TW_CHECK(x.size(dim) > 0, kIndex, op, ": the reduced dim ", dim, " is empty: input is ", x.sizes);
  Dims sizes = x.sizes;
  if (keepdim)
    sizes[dim] = 1;
  else
    sizes.erase(sizes.begin() + dim);
  return sizes;
}

}  // namespace tw::ops
