// What the definitions of matrix products share: checks, SBP, cost, and the steps between matrices and
// batches.
#pragma once

#include "ir/emitter.h"

namespace tw::ops {

inline void check_factors(const ir::ValueImpl& a, const ir::ValueImpl& b, const char* op) {
  TW_CHECK(a.dtype == b.dtype, kRuntime, op, ": both inputs must have one dtype, got ", a.dtype, " and ",
           b.dtype);
  TW_CHECK(!is_bool(a.dtype), kNotImplemented, op, ": dtype bool is not supported");
}

inline ir::Value adjoint(const ir::Value& matrix) { return ir::conj(ir::op<"transpose">(matrix, -2, -1)); }

// 2·M·N·K; kInput is the input whose last dim is K.
template <int kInput = 0>
ir::Cost product_cost(const ir::CostContext& c) {
  return {2.0 * c.output_count() * static_cast<double>(c.inputs[kInput].sizes.back()), c.bytes(), 0};
}

}  // namespace tw::ops
