// Which device each node of a process's graph runs on, and each value lies on.
//
// A process with several devices has one graph for all of them. Boxings say which rank each of their operands
// belongs to, and leaves are named after it ("x@3"); what is made of a rank's values is that rank's. Values
// that belong to all lie with the first rank that reads them; on accelerators there are none (separate.h).
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "ir/graph.h"

namespace tw::planner {

struct Devices {
  // Of the devices, ascending: Graph::ranks, else those of the boxings; none where there are none, which is
  // one device.
  std::vector<int64_t> ranks;
  std::vector<int> of_value;  // by number: an index into `ranks`
  int of(const ir::ValueImpl& value) const { return of_value[static_cast<const ir::GraphValue&>(value).id]; }
};

// The rank in the name of a leaf, "x@3"; -1: none.
int64_t rank_in_name(const std::string& leaf);

// The graph's values must have their numbers.
Devices find_devices(const ir::Graph& graph);
// Of a region. That of several devices of the CPU works in memory that its launch was given, as if on one.
Devices devices_of_region(ir::Graph& graph);

}  // namespace tw::planner
