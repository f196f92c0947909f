// A graph with the regions of its control flow as one list, for the choice of layouts: what is decided in a
// region and around it depends on each other.
//
//   %2 = cond(%0, [%1]) then { input %0; %1 = exp(%0); return %1 } else { input %0; return %0 }
// →
//   predicate  reads the predicate: every device has to know it
//   enter      %1 → the first input of both branches: one layout outside, for both
//   exp        of the branch
//   exit       what the branches return → the result: one layout for all three
//
// Of a loop, `enter` and `exit` of a carried value have the same layout, in which it goes round.
#pragma once

#include <vector>

#include "ir/layouts.h"

namespace tw::passes {

enum class FlatKind : uint8_t {
  kNode,
  kBoxing,
  kLocal,      // a node on parts, or between parts and global values: what it reads it reads whole
  kPredicate,  // what decides: whether a branch is taken, a loop goes on, or how often
  kEnter,
  kExit,
};

struct FlatNode {
  FlatKind kind = FlatKind::kNode;
  ir::Node* node = nullptr;        // of enter, exit and predicates: the control flow
  std::vector<ir::Value*> inputs;  // where they stand; null where absent
  std::vector<ir::Graph*> graphs;  // of each input: where it is boxed
  std::vector<ir::GraphValue*> outputs;
  const ir::Node* around = nullptr;  // the control flow that it belongs to: its own, or in whose region it is
  double times = 1;                  // how often it gives its outputs, about
  bool shifted = false;  // enter: the inputs are parts along dim 0; exit: the results are made of them
  int partner = -1;      // of enter and exit of a carried value: the other
};

// All values get numbers, those of regions too, so that no two have the same; `count` is how many there are.
std::vector<FlatNode> flatten(ir::Graph& graph, size_t* count);

}  // namespace tw::passes
