#pragma once

#include "ir/graph.h"

namespace tw::ir {

// Empty when the layouts of a value or of a node's tensors are sound, else what is wrong. See verify.h.
std::string layout_problem(const GraphValue& value);
std::string layout_problem(const Node& node);

}  // namespace tw::ir
