// How the results of an op lie in memory, from how its inputs do: what `order` of its definition says. Eager
// dispatch and the planner both ask here.
#pragma once

#include <span>

#include "base/memory_order.h"
#include "ir/op_def.h"

namespace tw::ir {

// Strides of a result of `sizes` of `def`, whose first result has `first`; inputs as in KernelContext, with
// null sizes where an optional one is absent.
Dims result_strides(const OpDef& def, std::span<const Window> inputs, const Dims& first, const Dims& sizes);

}  // namespace tw::ir
