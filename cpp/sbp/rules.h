// More of what rules are made of: pending reductions that pass through. See sbp.h.
#pragma once

#include <initializer_list>

#include "sbp/sbp.h"

namespace tw::sbp {

// These inputs wait for a reduction, the others are B: so do all outputs. Said of an op that is linear in
// these inputs together.
void add_pending(RuleContext& c, std::initializer_list<size_t> inputs, ReduceOp reduce = ReduceOp::kSum);
// For ops that move elements of one input, repeat them or put zeros beside them: sums, maxima and minima
// pass.
void add_moved(RuleContext& c, size_t input = 0);
// Maxima and minima alone: the result rises with the input.
void add_rising(RuleContext& c, size_t input = 0);

// Of one tensor, whose elements are moved and stay as they are (clone).
void elementwise_moved(RuleContext& c);
// f(grad, x, ...) = grad · f'(x, ...): linear in the first operand.
void elementwise_linear_in_first(RuleContext& c);

}  // namespace tw::sbp
