// The parts of a global tensor in another layout.
#pragma once

#include "eager/global.h"

namespace tw::eager {

// Fresh memory, one part for each addressable device of the new placement. Collective, and waits.
std::vector<Tensor> move_parts(const TensorImpl& tensor, const sbp::LayoutRef& to);
// The same of a local tensor that every process has: nothing is sent.
std::vector<Tensor> lay_out(const Tensor& whole, const sbp::LayoutRef& to);

}  // namespace tw::eager
