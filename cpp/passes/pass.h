// Passes change graphs. Each does one thing, keeps what the graph computes to the last bit, and leaves a
// graph that verifies. Most are run on every region of a graph before they are run on the graph: such a pass
// sees a node with regions as one whose attributes are more than what the op says.
#pragma once

#include <span>

#include "ir/graph.h"

namespace tw::passes {

struct Pass {
  const char* name;
  void (*run)(ir::Graph& graph);
  bool whole = false;           // it looks into regions itself, and is run on the graph alone
  const char* makes = nullptr;  // an op that is there for speed: run only where the graph's device has it
};

// Runs the passes in order, but those whose op the device has no kernel for, and verifies the graph after
// each; an error of the verifier names the pass. The environment variable THALWEG_PRINT_IR prints the graph
// to the standard error output: after the passes that it names, separated by commas, and as it was given to
// simplify() for `before`; `after_all` is all of these.
void run_passes(ir::Graph& graph, std::span<const Pass> passes);

// The passes that need no knowledge of devices or memory, in the order in which they run.
std::span<const Pass> simplify_passes();
// Runs them, and again while the number of nodes goes down, four times at most.
void simplify(ir::Graph& graph);

// Those that make a graph faster to run, in order. Values keep their bits, but nodes may be such that
// gradients and other passes know nothing of.
std::span<const Pass> fuse_passes();
// What is run once on a simplified graph, before it is planned.
std::span<const Pass> final_passes();

// What is run on a simplified graph that has global values, before it is cut into those of the ranks.
// `processes`: ranks of several processes take part.
std::span<const Pass> layout_passes(bool processes = false);
// What is run after them where ranks of several processes take part: messages cost more than copies.
std::span<const Pass> meeting_passes();

// Any pass by its name; null when there is none.
const Pass* find_pass(std::string_view name);

}  // namespace tw::passes
