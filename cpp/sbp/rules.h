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

// The other way round: the result falls while the input rises, so that of a maximum a minimum is left.
void add_falling(RuleContext& c, size_t input = 0);

// Whether numbers of one dtype that add up to a number still do so when each is converted: where none is
// rounded. Pending integers wrap, so that unsigned ones do not widen.
bool cast_keeps_sums(DType from, DType to);
// Whether their order stays, and what loses against all others still does: integers that narrow change both.
bool cast_rises(DType from, DType to);
// What passes when these inputs are converted to the dtype of the output, the others being B.
void add_cast(RuleContext& c, std::initializer_list<size_t> inputs, DType from);

// Of one tensor, whose elements are moved and stay as they are (clone).
void elementwise_moved(RuleContext& c);
// Of (target, source), where the target is not read: what is pending is written into what is pending.
void elementwise_copy(RuleContext& c);
void elementwise_falling(RuleContext& c);  // of one real tensor
// -x. The least integer, which is neutral to maxima, has no negative: of integers no extremes pass.
void elementwise_negative(RuleContext& c);
// Linear, and of real tensors the identity (conj).
void elementwise_conjugate(RuleContext& c);
// Rising where the tensor is real (sgn).
void elementwise_rising_if_real(RuleContext& c);
// f(grad, x, ...) = grad · f'(x, ...): linear in the first operand.
void elementwise_linear_in_first(RuleContext& c);

}  // namespace tw::sbp
