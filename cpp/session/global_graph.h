// A graph of global values made ready to be a program of this process.
#pragma once

#include "passes/partition/partition.h"

namespace tw::session {

// Decides the layouts of a graph in which leaves have some, and cuts out what the ranks of this process do.
// The graph that comes out is one for Program, whose inputs, variables and constants are the parts that it
// says, in row-major order; what it computes with each part is what the logical graph computes. Throws
// kPlacement as choose_layouts does, and where a placement has ranks that the job has not.
passes::ProcessGraph lay_out(ir::Graph& graph);

}  // namespace tw::session
