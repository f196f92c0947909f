// Where the values of a graph lie: which of them share a buffer, and when each buffer is needed.
#pragma once

#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "plan/plan.h"
#include "planner/order.h"

namespace tw::planner {

// Memory of its own: a range of the arena, or a whole leaf or output.
struct Buffer {
  plan::SegmentKind kind = plan::SegmentKind::kArena;
  int index = 0;  // of the leaf or output
  int64_t size_bytes = 0;
  int device = 0;           // whose memory it is: an index into MemoryLayout::ranks
  int first = 0, last = 0;  // steps between which an arena buffer is in use, both included
  int64_t offset = 0;       // in the arena, once packed
};

// A value's place: a strided window of a buffer. Views of one value have its `root`; a value that takes over
// a buffer has a new one.
struct Place {
  int buffer = -1;
  int root = -1;
  DType dtype = DType::kFloat32;
  ir::Geometry geometry;  // its offset counts elements from the buffer's start
};

// A kernel call of the plan. `node` is null for the copies that the planner adds.
struct Step {
  ir::Node* node = nullptr;
  std::vector<Place> inputs;
  std::vector<Place> outputs;
  std::vector<bool> absent;         // of inputs
  std::vector<int> mutated;         // positions in `inputs` that the kernel writes
  std::vector<Place> becomes;       // what they are then: the same memory under a root of its own
  const ir::Node* cause = nullptr;  // of a copy: the node that needs it, or whose result it copies
};

// A step that other steps run beside: from its own place up to, not including, step `done`.
struct Flight {
  size_t step = 0, done = 0;
};

struct MemoryLayout {
  std::vector<int64_t> ranks;  // of the devices; none where there is one and nobody says which
  std::vector<Buffer> buffers;
  std::vector<Place> leaves;  // inputs, variables, constants
  std::vector<Step> steps;
  int roots = 0;
  size_t commit = 0;            // the first step that may write variables
  std::vector<Flight> flights;  // in their order; each is over before the next begins
  std::set<size_t> meetings;    // steps that wait for boxings in their regions; no flight is under way then
};

// What nodes with regions need.
struct RegionNeeds {
  // Memory of their own, of each device of their plans: their last outputs in the plan. None where it is not
  // given.
  std::unordered_map<const ir::Node*, std::vector<int64_t>> bytes;
  bool inside = false;  // the graph is a region itself, of which all outputs lie in row-major order
};

// Inputs lie in these strides, without gaps; in row-major order where none are given. Numbers the graph's
// values.
MemoryLayout lay_out(ir::Graph& graph, const Order& order, std::span<const Dims> input_strides = {},
                     const RegionNeeds& regions = {});

// The most bytes of the arena that are in use in one step: no arena is smaller. `step` gets the first such
// step.
int64_t live_peak(const MemoryLayout& layout, size_t* step = nullptr);

}  // namespace tw::planner
