// Proves that a graph is well formed. Everything that makes or changes graphs ends in one that passes.
#pragma once

#include "ir/graph.h"

namespace tw::ir {

// Throws kInternal, with the text of the node at fault, unless
// - leaves are values without a node, each once; numbers and texts that nodes name exist;
// - every input of a node is a leaf or made by an earlier node of this graph, stands where the schema of the
//   op has a place for it, and agrees in dtype with those it is promoted with;
// - outputs are what inference says, and point back to their node; no op has sizes that depend on data;
// - lifted numbers stand for an int, a float or a Scalar, or an item of a list that is there;
// - every random node has a draw below `draws`. One draw may serve several nodes only where they are copies
//   of each other, as recomputation makes them, or run on parts of one tensor;
// - outputs and assigned values are of this graph; a variable is assigned once, with its own dtype and shape;
// - layouts split dims that exist, in sizes that fit. The tensors of a node, unless it is a boxing, lie on
//   one placement, and once all of its layouts are decided they are of a signature that its op offers. What
//   a variable is assigned lies as the variable does.
// On failure the values get their numbers (Graph::number), which the message uses.
void verify(const Graph& graph);

}  // namespace tw::ir
