// Runs the boxing_part nodes of a graph: boxing plans on the memory of the program.
#pragma once

#include <memory>

#include "ir/graph.h"
#include "runtime/kernel_source.h"

namespace tw::session {

// Throws kNotImplemented where the boxing reaches ranks of other processes: a kernel of a chain must not
// wait.
std::unique_ptr<runtime::LaunchKernel> make_boxing_kernel(const ir::Node& node);

}  // namespace tw::session
