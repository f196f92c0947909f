// What the search is to decide about a graph.
#pragma once

#include "ir/graph.h"
#include "machine/machine.h"
#include "passes/sbp/search.h"

namespace tw::passes {

struct GraphProblem {
  Problem problem;
  std::vector<ir::Node*> nodes;  // behind those of the problem
  std::vector<int> numbers;      // of the graph's values, by their ids, in the problem; -1: a local value
  // Those of the problem's uses, which are of outputs first, then of assignments.
  std::vector<ir::Value*> uses;
};

// Numbers the graph's values, and gives leaves that global nodes read a layout. Throws kPlacement where a
// node reads values of several placements, or no signature of an op gives a layout that its result is said to
// have.
GraphProblem problem_of(ir::Graph& graph, const machine::Machine& machine);

}  // namespace tw::passes
