// What the search is to decide about a graph.
#pragma once

#include <unordered_map>

#include "machine/machine.h"
#include "passes/sbp/flat.h"
#include "passes/sbp/search.h"

namespace tw::passes {

struct GraphProblem {
  Problem problem;
  std::vector<FlatNode> nodes;  // behind those of the problem
  std::vector<int> numbers;     // of the graph's values, by their ids, in the problem; -1: a local value
  // Those of the problem's uses, which are of outputs first, then of assignments.
  std::vector<ir::Value*> uses;
  bool carries = false;  // control flow carries values round
};

// How values lie that loops carry, by the inputs of their bodies.
using CarriedLayouts = std::unordered_map<const ir::GraphValue*, const sbp::Layout*>;

// Numbers the graph's values, and gives leaves that global nodes read a layout. What loops carry lies as
// `carried` says; where it says nothing, what goes round may come to lie in another way than it has begun in,
// so that the choices of such a problem tell how best to begin, and no more. Throws as find_placements(), and
// kPlacement where no signature of an op gives a layout that its result is said to have.
GraphProblem problem_of(ir::Graph& graph, const machine::Machine& machine,
                        const CarriedLayouts& carried = {});
// What the choices for such a problem say of carried values.
CarriedLayouts carried_by(const GraphProblem& stated, const Choices& choices);

}  // namespace tw::passes
