// One logical graph → what each process does.
//
// The graph of a process is of local values: the parts that its ranks hold, and local values, which it has
// once. Nodes are there for each of its ranks in turn, with the draws that they had and the attributes of
// their parts (OpDef::localize); each boxing becomes a boxing_part, the only nodes in which ranks meet. These
// stand in one order, the same in all processes, which check_meetings proves: so none waits for another that
// waits for it. Steps of optimizers on single tensors come together (gather_steps.h).
//
//   input %0 "x" : float32[5, 8] @cpu[0, 1] S(0)
//   %1 = sum(%0) : float32[] @cpu[0, 1] P(sum)
//   %2 = boxing(%1) : float32[] @cpu[0, 1] B
//   return %2
// → of a process with the ranks 0 and 1
//   input %0 "x@0" : float32[3, 8]
//   input %1 "x@1" : float32[2, 8]
//   %2 = sum(%0) : float32[]
//   %3 = sum(%1) : float32[]
//   %4, %5 = boxing_part([%2, %3], source="cpu[0, 1] P(sum)", target="cpu[0, 1] B", size=[], dtype=float32,
//                        ranks=[0, 1], order=0) : float32[], float32[]
//   return %4, %5
//
// Control flow is one node in each process, whose regions are cut as the graph is: its operands and results
// are the parts of all ranks of the process, and one of them says for all what is decided. take_part and
// join_parts are gone: the parts are what they are, and what is made of those of other processes is left out.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "ir/graph.h"

namespace tw::passes {

// Which input, variable, constant or output of the logical graph stands behind one of a process, and the part
// of which rank it is; -1: a local value.
struct PartOf {
  int index = 0;
  int64_t rank = -1;
  friend bool operator==(const PartOf&, const PartOf&) = default;
};

struct ProcessGraph {
  std::vector<int64_t> ranks;
  std::unique_ptr<ir::Graph> graph;
  std::vector<PartOf> inputs, variables, constants, outputs;
};

// `graph` verifies, and all its layouts are decided; its values get their numbers. Throws kNotImplemented
// where a number that is given in every run says how large a part is.
ProcessGraph graph_of_process(ir::Graph& graph, std::vector<int64_t> ranks);
// The ranks of all placements, ascending.
std::vector<int64_t> ranks_of(const ir::Graph& graph);

// Throws kInternal unless the boxings of these graphs, of all processes, meet: each has one order number that
// rises along every graph, and says the same in exactly the processes that take part in it.
void check_meetings(std::span<const ProcessGraph> graphs);

}  // namespace tw::passes
