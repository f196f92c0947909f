// Which layout every value gets: the search behind the pass choose_layouts, on plain data.
//
// A node runs in one of its candidates, which say how its inputs must lie and how its outputs lie. A value is
// available as it was made, and in every layout that a node before has had it boxed to: a node that wants it
// in another one boxes it from the layout that is cheapest to start at. The cost of a choice is the time of
// all candidates and of all boxings.
#pragma once

#include <vector>

#include "sbp/layout.h"

namespace tw::passes {

struct Candidate {
  // Inputs, then outputs; null where absent, and for the input of a node that takes what is cheapest to turn
  // into its output: a boxing that the user asked for.
  std::vector<const sbp::Layout*> layouts;
  double seconds = 0;
};

struct SearchValue {
  Dims sizes;
  int64_t element_bytes = 4;
  const sbp::Layout* given = nullptr;  // of a leaf
  double times = 1;                    // how often it is boxed, where it is: in loops as often as they run
};

struct SearchNode {
  std::vector<int> inputs, outputs;  // values; -1: absent
  std::vector<Candidate> candidates;
  bool boxing = false;
};

// What is wanted of a value when all nodes have run. Null: any layout without a pending reduction, on the
// placement of `beside`, or where this is null too, anywhere.
struct FinalUse {
  int value = 0;
  const sbp::Layout* wanted = nullptr;
  const sbp::Layout* beside = nullptr;
};

struct Problem {
  std::vector<SearchValue> values;
  std::vector<SearchNode> nodes;  // each after those whose values it takes
  std::vector<FinalUse> uses;
  double meeting_seconds = 0, meeting_seconds_per_byte = 0;  // machine::Machine's
};

struct Choices {
  std::vector<int> candidates;  // of each node
  double seconds = 0;
  bool exact = true;  // no choice costs less
};

// Exact where the values that are in use at once have few layouts between them, as in chains and trees: of
// nodes that nothing but one chain of others sees, only the cheapest way to every layout of their output is
// kept. Elsewhere the best states are kept, the more the smaller the problem.
Choices search(const Problem& problem);

}  // namespace tw::passes
