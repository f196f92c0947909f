// See clipping.cc; the norm is that of reduction/norm_formula.h, what is finite pointwise/predicate_formula.h
// says.
#pragma once

#include "base/formula.h"

namespace tw::ops {

// What elements are scaled by, where it clips.
TW_FORMULA double clip_factor(double max_norm, double total_norm) { return max_norm / (total_norm + 1e-6); }
TW_FORMULA bool clips(double factor) { return !(factor >= 1); }  // no number does, too

}  // namespace tw::ops
