// See softmax.cc: the gradients of an element, once the row's sum is known. M: the functions used.
#pragma once

#include "base/formula.h"

namespace tw::ops {

// dot: Σ g y
template <class C>
TW_FORMULA C softmax_gradient(C g, C y, C dot) {
  return y * (g - dot);
}
// sum: Σ g
template <class M, class C>
TW_FORMULA C log_softmax_gradient(C g, C y, C sum) {
  return g - M::exp_nonpositive(y) * sum;
}

}  // namespace tw::ops
