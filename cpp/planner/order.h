// The order in which a stream runs the nodes of a graph.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace tw::planner {

struct Order {
  std::vector<ir::Node*> nodes;
  // The first node that may write variables: all before it can fail without harm. Those from here on feed
  // nothing but assignments.
  size_t commit = 0;
};

Order order_nodes(ir::Graph& graph);

}  // namespace tw::planner
