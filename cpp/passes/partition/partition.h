// One logical graph → what each rank does.
//
// A rank's graph is of local values: the parts that it holds. Nodes keep their order and their draws, their
// attributes are those of the part (OpDef::localize), and each boxing becomes a boxing_part, the only nodes
// in which ranks meet. These stand in one order, the same on all ranks, which check_meetings proves: so no
// rank waits for another that waits for it.
//
//   input %0 "x" : float32[4, 8] @cpu[0, 1] S(0)
//   %1 = sum(%0) : float32[] @cpu[0, 1] P(sum)
//   %2 = boxing(%1) : float32[] @cpu[0, 1] B
//   return %2
// → of rank 1
//   input %0 "x" : float32[2, 8]
//   %1 = sum(%0) : float32[]
//   %2 = boxing_part(%1, source="cpu[0, 1] P(sum)", target="cpu[0, 1] B", size=[], dtype=float32, rank=1,
//                    order=0) : float32[]
//   return %2
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "ir/graph.h"

namespace tw::passes {

struct RankGraph {
  int64_t rank = 0;
  std::unique_ptr<ir::Graph> graph;
  // Of those of the logical graph, which ones this rank has a part of; in order.
  std::vector<int> inputs, variables, constants, outputs;
};

// `graph` verifies, and all its layouts are decided; its values get their numbers. Values without a layout
// are local ones that every rank has. Throws kNotImplemented where a number that is given in every run says
// how large a part is.
RankGraph graph_of_rank(ir::Graph& graph, int64_t rank);
// The ranks of all placements, ascending.
std::vector<int64_t> ranks_of(const ir::Graph& graph);

// Throws kInternal unless the boxings of these graphs, of all ranks, meet: each has one order number that
// rises along every graph, and says the same on exactly the ranks that take part in it.
void check_meetings(std::span<const RankGraph> graphs);

}  // namespace tw::passes
