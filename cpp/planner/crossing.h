// Boxings in which other processes take part, or several accelerators: their requests are complete some time
// after they were posted.
#pragma once

#include "planner/order.h"

namespace tw::planner {

// The boxing_part nodes in which something may be sent between processes, or between accelerators.
std::unordered_set<const ir::Node*> find_crossings(const ir::Graph& graph);

// The nodes whose regions have such nodes in them.
std::unordered_set<const ir::Node*> find_meetings(const ir::Graph& graph);

// The order's crossings are posted as soon as what they read is there, in the order that they had among each
// other: all processes meet in it.
//
//   %1 = mm(...)                     %1 = mm(...)
//   %2 = mm(...)                     %2 = boxing_part([%1], ...)
//   %3 = boxing_part([%1], ...)  →   %3 = mm(...)
//   %4 = sub(%0, %3)                 %4 = sub(%0, %2)
//
// They do not overtake control flow that boxes inside. The commit stays as it is.
Order early_order(const Order& order);

}  // namespace tw::planner
