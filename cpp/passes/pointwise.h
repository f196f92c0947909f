// Ops whose result's element i depends on element i of the operands alone, these being broadcast to it.
#pragma once

#include "ir/op_def.h"

namespace tw::passes {

inline bool is_pointwise(const ir::OpDef& def) {
  if (def.localize) return false;
  if (sbp::is_elementwise(def.sbp_rule)) return true;
  // Their rules have more: these are linear in some of their operands.
  for (const char* name : {"mul", "mul_add", "true_divide", "lerp", "addcmul", "addcdiv", "masked_fill",
                           "clamp", "fill", "cast"})
    if (def.schema.name == name) return true;
  return false;
}

}  // namespace tw::passes
