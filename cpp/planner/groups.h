// Values that share memory whatever the order of nodes: a value and its views.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace tw::planner {

struct Groups {
  std::vector<int> of;         // each value, by number
  std::vector<int64_t> bytes;  // of each group, in the arena: leaves and results of the graph take none of it
};

// The graph's values must have their numbers.
Groups find_groups(const ir::Graph& graph);

}  // namespace tw::planner
