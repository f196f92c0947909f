#include "planner/plan_regions.h"

#include <algorithm>

#include "ir/control.h"
#include "planner/crossing.h"
#include "planner/plan_graph.h"

namespace tw::planner {

namespace {

// While it lives, carried values of a loop's body are variables, and what the next iteration gets is assigned
// to them: they stay where they are, and the plan knows how to write them last.
class CarriedAsVariables {
 public:
  CarriedAsVariables(ir::Graph& body, const ir::LoopShape& shape)
      : body_(body), inputs_(body.inputs), outputs_(body.outputs), output_ranks_(body.output_ranks) {
    body.variables.assign(inputs_.begin(), inputs_.begin() + shape.carried);
    body.inputs.erase(body.inputs.begin(), body.inputs.begin() + shape.carried);
    auto first = body.outputs.begin() + shape.pred;
    for (int i = 0; i < shape.carried; i++)
      if (first[i].get() != body.variables[i].value.get()) body.assignments.push_back({i, first[i]});
    body.outputs.erase(first, first + shape.carried);
    if (!output_ranks_.empty()) {
      auto rank = body.output_ranks.begin() + shape.pred;
      body.output_ranks.erase(rank, rank + shape.carried);
    }
  }
  ~CarriedAsVariables() {
    body_.variables.clear();
    body_.assignments.clear();
    body_.inputs = std::move(inputs_);
    body_.outputs = std::move(outputs_);
    body_.output_ranks = std::move(output_ranks_);
  }
  CarriedAsVariables(const CarriedAsVariables&) = delete;
  CarriedAsVariables& operator=(const CarriedAsVariables&) = delete;

 private:
  ir::Graph& body_;
  std::vector<ir::Leaf> inputs_;
  std::vector<ir::Value> outputs_;
  std::vector<int64_t> output_ranks_;
};

plan::Region plan_region(ir::Node& node, const ir::Graph& root, int64_t first_rank) {
  plan::Region region;
  if (ir::control_kind(*node.def) == ir::ControlKind::kCond) {
    for (auto& branch : node.regions) region.bodies.push_back(plan_graph(*branch, root, {}, first_rank));
    return region;
  }
  ir::LoopShape shape = ir::loop_shape(node);
  region.kind = plan::RegionKind::kLoop;
  region.carried = shape.carried;
  region.slices = shape.slices;
  region.length = shape.length;
  region.reverse = shape.reverse;
  region.parts = shape.parts;
  CarriedAsVariables carried(*node.regions[0], shape);
  region.bodies.push_back(plan_graph(*node.regions[0], root, {}, first_rank));
  return region;
}

}  // namespace

RegionPlans plan_regions(ir::Graph& graph, const ir::Graph& root, int64_t first_rank) {
  RegionPlans plans;
  const auto meetings = find_meetings(graph);
  for (auto& node : graph.nodes) {
    if (node->regions.empty()) continue;
    plan::Region& region = plans.emplace(node.get(), plan_region(*node, root, first_rank)).first->second;
    region.meets = meetings.contains(node.get());
  }
  return plans;
}

std::vector<int64_t> arena_bytes(const plan::Region& region) {
  std::vector<int64_t> bytes(region.bodies.at(0).devices.size());
  for (const plan::Plan& body : region.bodies)
    for (const plan::Segment& segment : body.segments)
      if (segment.kind == plan::SegmentKind::kArena)
        bytes[segment.index] = std::max(bytes[segment.index], segment.size_bytes);
  return bytes;
}

}  // namespace tw::planner
