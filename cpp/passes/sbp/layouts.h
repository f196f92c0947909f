// Global tensors in graphs: passes that decide how values lie, and how they are boxed. One pass a file.
#pragma once

#include "ir/graph.h"
#include "machine/machine.h"

namespace tw::passes {

void place_literals(ir::Graph& graph);
void choose_layouts(ir::Graph& graph);
void choose_layouts_of_processes(ir::Graph& graph);  // where boxings cost messages between processes
void gather_boxings(ir::Graph& graph);
void bucket_boxings(ir::Graph& graph);
// Returns whether no other choice takes less time by the machine's costs.
bool choose_layouts(ir::Graph& graph, const machine::Machine& machine);

}  // namespace tw::passes
