// Passes that trade the graph's plain ops for ones that run faster. They come last, before planning: what
// they leave is meant to be run, not to be read, saved or differentiated.
#pragma once

#include "ir/graph.h"

namespace tw::passes {

void put_scatters_together(ir::Graph& graph);
void put_epilogues_into_convolutions(ir::Graph& graph);
void group_by_rows(ir::Graph& graph);

}  // namespace tw::passes
