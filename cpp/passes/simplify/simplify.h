// One pass a file. Values are immutable and ops have no effects, so that equal values may stand for each
// other and unused ones go; origins and module paths are those of the nodes that stay.
#pragma once

#include "ir/graph.h"

namespace tw::passes {

void remove_identities(ir::Graph& graph);
void fold_constants(ir::Graph& graph);
void simplify_algebra(ir::Graph& graph);
void share_common_subexpressions(ir::Graph& graph);
void remove_dead_code(ir::Graph& graph);
void remove_region_operands(ir::Graph& graph);

}  // namespace tw::passes
