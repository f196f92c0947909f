// The order in which a stream runs the nodes of a graph.
#pragma once

#include <unordered_set>
#include <vector>

#include "ir/graph.h"

namespace tw::planner {

struct Order {
  std::vector<ir::Node*> nodes;
  // The first node that may write variables: all before it can fail without harm. Those from here on feed
  // nothing but assignments.
  size_t commit = 0;
  // Boxings in which other processes take part: they begin where they stand and are complete some time later.
  std::unordered_set<const ir::Node*> crossings;
  // Control flow with such boxings in its regions, all of which are over when it ends: none of the others is
  // on its way meanwhile.
  std::unordered_set<const ir::Node*> meetings;
};

// The graph's own order, in which a trace puts backward right after forward; what only assignments need comes
// last. Numbers the graph's values.
Order recorded_order(ir::Graph& graph);

// Moves nodes so that less memory is live at once: see lean_order.cc. The commit stays as it is.
Order lean_order(const ir::Graph& graph, const Order& order);

}  // namespace tw::planner
