// What the definitions of pointwise ops share.
#pragma once

#include "ir/emitter.h"

namespace tw::ops {

inline constexpr unsigned kEverywhere = ir::kFunction | ir::kMethod | ir::kInplace;

inline ir::Value zeros_like(const ir::Meta& meta) { return ir::op<"full">(meta.sizes, 0, meta.dtype); }

// For functions that are flat almost everywhere.
inline void zero_grad(ir::GradContext& c) {
  for (int i = 0; i < c.input_count(); i++)
    if (c.needs(i)) c.set(i, zeros_like(c.input_meta(i)));
}

// `value` where `condition` holds, else 0: also where value is infinite or NaN.
inline ir::Value masked(const ir::Value& condition, const ir::Value& value) {
  return ir::op<"where">(condition, value, 0);
}

// For ops that follow from others where a real dtype is wanted.
inline void check_real(ir::InferContext& c) {
  for (const ir::ValueImpl* input : c.inputs)
    TW_CHECK(!input || !is_complex(input->dtype), kNotImplemented, c.op, ": a real dtype is wanted, got ",
             input->dtype);
}
inline void infer_real_same(ir::InferContext& c) {
  check_real(c);
  ir::infer_same(c);
}
inline void infer_real_broadcast(ir::InferContext& c) {
  check_real(c);
  ir::infer_broadcast(c);
}

// A function of one tensor, as a float: integers become the default float. Gradient and SBP rule follow.
inline ir::OpBuilder define_float_function(ir::OpRegistry& r, const char* schema, const char* doc,
                                           bool complex = true) {
  return r.op(schema)
      .doc(doc)
      .promote(ir::Promotion::kFloat)
      .infer(complex ? ir::infer_same : infer_real_same)
      .autocast(ir::Autocast::kFloat32)
      .sbp(sbp::elementwise)
      .cost(ir::pointwise_cost<20>)
      .expose(kEverywhere);
}

}  // namespace tw::ops
