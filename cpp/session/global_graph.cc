#include "session/global_graph.h"

#include <unordered_map>

#include "comm/world.h"
#include "ir/control.h"
#include "ir/layouts.h"
#include "passes/pass.h"
#include "passes/sbp/places.h"

namespace tw::session {

namespace {

sbp::LayoutRef broadcast_on(const sbp::PlacementRef& placement) {
  return sbp::layout(placement, sbp::NdSbp(placement->shape.size()));
}

ir::Value boxed(ir::Graph& graph, const ir::Value& value, const sbp::LayoutRef& to) {
  static const ir::OpDef& boxing = ir::registry().get("boxing");
  ir::Node& node = graph.append(boxing, {&value, 1}, {}, boxing.defaults());
  node.outputs[0]->layout = to;
  return node.outputs[0];
}

class LeafSharer {
 public:
  explicit LeafSharer(passes::ProcessGraph& cut) : cut_(cut), graph_(*cut.graph) {}

  // Returns the new number of each leaf, -1 for those that are gone.
  std::vector<int> share(std::vector<ir::Leaf>& leaves, std::vector<passes::PartOf>& parts,
                         const IsLocal& local) {
    std::unordered_map<int, ir::Value> first;
    std::vector<ir::Leaf> kept;
    std::vector<passes::PartOf> kept_parts;
    std::vector<int> numbers;
    for (size_t i = 0; i < leaves.size(); i++) {
      if (local(parts[i].index)) {
        auto [at, fresh] = first.try_emplace(parts[i].index, leaves[i].value);
        if (!fresh) {
          by_[leaves[i].value.get()] = at->second;
          numbers.push_back(-1);
          continue;
        }
      }
      numbers.push_back(static_cast<int>(kept.size()));
      kept.push_back(std::move(leaves[i]));
      kept_parts.push_back(parts[i]);
    }
    leaves = std::move(kept);
    parts = std::move(kept_parts);
    return numbers;
  }

  void renumber(const std::vector<int>& variables) {
    std::vector<ir::Assignment> kept;
    for (ir::Assignment& one : graph_.assignments) {
      if (variables[one.variable] < 0) continue;
      one.variable = variables[one.variable];
      kept.push_back(std::move(one));
    }
    graph_.assignments = std::move(kept);
  }

  void replace() {
    if (by_.empty()) return;
    auto update = [&](ir::Value& value) {
      if (auto at = by_.find(value.get()); at != by_.end()) value = at->second;
    };
    for (const auto& node : graph_.nodes)
      for (ir::Value& input : node->inputs)
        if (input) update(input);
    for (ir::Value& output : graph_.outputs) update(output);
    for (ir::Assignment& one : graph_.assignments) update(one.value);
  }

 private:
  passes::ProcessGraph& cut_;
  ir::Graph& graph_;
  std::unordered_map<const ir::ValueImpl*, ir::Value> by_;
};

}  // namespace

void decide_layouts(ir::Graph& graph, std::span<const sbp::PlacementRef> results) {
  // What is made from nothing alone lies nowhere yet.
  const passes::Places placed = passes::find_places(graph);
  for (size_t i = 0; i < results.size(); i++)
    if (results[i] && !placed.contains(graph.outputs[i].get()))
      graph.outputs[i] = boxed(graph, graph.outputs[i], broadcast_on(results[i]));
  passes::simplify(graph);
  passes::run_passes(graph, passes::layout_passes(comm::world().processes().size() > 1));
  for (size_t i = 0; i < results.size(); i++) {
    const sbp::LayoutRef layout = ir::graph_value(graph.outputs[i]).layout;
    if (results[i] || !layout || layout->is_broadcast()) continue;
    graph.outputs[i] = boxed(graph, graph.outputs[i], broadcast_on(layout->placement));
  }
}

std::string device_of(ir::Graph& root) {
  const sbp::Placement* first = nullptr;
  auto see = [&](const ir::GraphValue& value) {
    if (!value.layout) return;
    const sbp::Placement& one = *value.layout->placement;
    if (!first) first = &one;
    TW_CHECK(one.type == first->type, kPlacement, root.name, ": a program runs on devices of one kind, got ",
             *first, " and ", one);
  };
  ir::for_each_graph(root, [&](ir::Graph& graph) {
    for (const auto* leaves : {&graph.inputs, &graph.variables, &graph.constants})
      for (const ir::Leaf& leaf : *leaves) see(*leaf.value);
    for (const auto& node : graph.nodes)
      for (const ir::GraphRef& output : node->outputs) see(*output);
  });
  const device::DeviceType type = first ? device::parse_device(first->type).type : device::DeviceType::kCpu;
  if (type == device::DeviceType::kCpu) return "cpu";
  return device::name_of(comm::world().device_of(comm::world().first_rank(), type));
}

passes::ProcessGraph cut_out(ir::Graph& graph) {
  const comm::World& world = comm::world();
  if (world.processes().size() > 1) passes::run_passes(graph, passes::meeting_passes());
  std::vector<std::vector<int64_t>> ranks(world.processes().size());
  for (int64_t rank : passes::ranks_of(graph)) {
    TW_CHECK(world.is_valid(static_cast<int>(rank)), kPlacement, graph.name, ": a placement has rank ", rank,
             ", but the job has ", world.size());
    ranks[world.process_of(static_cast<int>(rank))].push_back(rank);
  }
  // Every process makes all of them, so that each proves the same about the order in which they meet.
  std::vector<passes::ProcessGraph> all;
  for (size_t process = 0; process < ranks.size(); process++)
    all.push_back(passes::graph_of_process(graph, ranks[process]));
  passes::check_meetings(all);
  return std::move(all[world.self()]);
}

passes::ProcessGraph lay_out(ir::Graph& graph) {
  decide_layouts(graph);
  return cut_out(graph);
}

void share_local_leaves(passes::ProcessGraph& cut, const IsLocal& input, const IsLocal& variable) {
  LeafSharer sharer(cut);
  ir::Graph& graph = *cut.graph;
  sharer.share(graph.inputs, cut.inputs, input);
  sharer.renumber(sharer.share(graph.variables, cut.variables, variable));
  sharer.share(graph.constants, cut.constants, [](int) { return true; });
  sharer.replace();
}

}  // namespace tw::session
