// Runs the boxing_part nodes of a graph: boxing plans on the memory of the program.
#pragma once

#include <memory>
#include <string>

#include "ir/graph.h"
#include "runtime/kernel_source.h"
#include "session/agreement.h"

namespace tw::session {

// A kernel of chains where all is copied within this process, a communication where other processes or
// several accelerators take part; in a region the kernel then waits for them, on accelerators by their
// streams. The first communication of a program with other processes waits for `agreement`. Errors of other
// processes tell the user's line, `origin`.
std::unique_ptr<runtime::LaunchKernel> make_boxing_kernel(const ir::Node& node, std::string origin,
                                                          std::shared_ptr<Agreement> agreement);

}  // namespace tw::session
