// A graph of global values made ready to be a program of this process.
#pragma once

#include <functional>
#include <string>

#include "passes/partition/partition.h"

namespace tw::session {

// Simplifies a graph in which leaves have layouts, and decides all others. `results`: where each output lies
// that is a global tensor to the caller, null for one that is local to it, and is then the same on every
// device; outputs beyond them are what they are in the graph. Throws kPlacement as choose_layouts does.
void decide_layouts(ir::Graph& graph, std::span<const sbp::PlacementRef> results = {});

// Where this process runs a graph with layouts, as Graph::device: on the CPU, or on the GPU of its first rank
// and those of the others. Throws kPlacement where its placements are of several kinds.
std::string device_of(ir::Graph& graph);

// What the ranks of this process do of a graph with layouts. The graph that comes out is one for Program,
// whose inputs, variables and constants are the parts that it says, in row-major order; what it computes with
// each part is what the logical graph computes. Throws kPlacement where a placement has ranks that the job
// has not.
passes::ProcessGraph cut_out(ir::Graph& graph);

// Both.
passes::ProcessGraph lay_out(ir::Graph& graph);

// Local tensors that global values are made of have a leaf for each rank: it becomes one for all of them. The
// functions say which inputs, variables and constants of the logical graph are local.
using IsLocal = std::function<bool(int index)>;
void share_local_leaves(passes::ProcessGraph& cut, const IsLocal& input, const IsLocal& variable);

}  // namespace tw::session
