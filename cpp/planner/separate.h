// Accelerators do not read each other's memory: what one of them makes and another needs is made there, too,
// or brought by a boxing.
//
//   %2 = full(...) : float32[]         read with "x@0" and "x@1"
// →
//   %2 = full(...) : float32[]         read with "x@0"
//   %3 = full(...) : float32[]         read with "x@1"
//
// What is made of nothing is made again; a value that depends on leaves is sent. Between the parts of global
// values there are boxings already: this is about values that belong to no rank, or to all.
#pragma once

#include "ir/graph.h"

namespace tw::planner {

// Of a process's graph on several accelerators, and its regions; others stay as they are. Passes that share
// equal nodes come before it.
void separate_devices(ir::Graph& graph);

}  // namespace tw::planner
