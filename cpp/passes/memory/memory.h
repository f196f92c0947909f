// What a graph costs to run: passes for those that are simplified already. One pass a file.
#pragma once

#include "ir/graph.h"

namespace tw::passes {

void hoist_literals(ir::Graph& graph);

}  // namespace tw::passes
