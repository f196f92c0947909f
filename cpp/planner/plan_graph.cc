// Stages: (1) order the nodes; (2) give every value a place in a buffer; (3) pack the arena's buffers by
// their times of use; (4) cut the steps into actors and write it all down: one chain of launches, or, where
// boxings reach other processes, chains with communications beside them. Stages 1 and 2 are done for several
// orders, of which the one with the least live memory counts.
#include "planner/plan_graph.h"

#include <algorithm>
#include <unordered_map>

#include "ir/attr_text.h"
#include "ir/control.h"
#include "ir/layouts.h"
#include "ops/boxing/boxing_part.h"
#include "plan/text.h"
#include "planner/actors.h"
#include "planner/crossing.h"
#include "planner/memory.h"
#include "planner/packing/packing.h"
#include "planner/plan_regions.h"

namespace tw::planner {

namespace {

std::string attributes_text(const ir::Node& node) {
  std::string out;
  for (size_t i = 0; i < node.def->schema.params.size(); i++) {
    const ir::Param& param = node.def->schema.params[i];
    if (param.kind != ir::ParamKind::kAttr) continue;
    std::vector<ir::LiftedItem> lifted;
    for (const ir::Lifted& entry : node.lifted)
      if (entry.param == static_cast<int>(i)) lifted.push_back({entry.item, entry.number});
    ir::AttrValue value = ir::read_attr(param.field, node.attrs.get());
    if (lifted.empty() && param.has_default && ir::same_attr(value, param.default_value)) continue;
    if (!out.empty()) out += ", ";
    out += param.name + "=";
    ir::print_attr(out, value, lifted);
  }
  return out;
}

// A graph runs on the device of its process's first rank and, where it has several, on those that follow.
std::string device_after(const std::string& first, int64_t distance) {
  if (distance == 0) return first;
  const size_t colon = first.find(':');
  const int64_t number = colon == std::string::npos ? 0 : std::stoll(first.substr(colon + 1));
  return cat(first.substr(0, colon), ':', number + distance);
}

// How many numbers its regions draw is known when they have run: one chain takes them all.
bool has_open_draws(const ir::Graph& graph) {
  return std::ranges::any_of(graph.nodes, [](const auto& node) { return ir::has_open_draws(*node); });
}

class Writer {
 public:
  // `root` has the texts and numbers.
  Writer(ir::Graph& graph, const ir::Graph& root, MemoryLayout layout, RegionPlans regions,
         int64_t first_rank)
      : graph_(graph),
        root_(root),
        layout_(std::move(layout)),
        regions_(std::move(regions)),
        first_rank_(first_rank) {}

  plan::Plan run() {
    plan_.name = graph_.name;
    plan_.draws = graph_.draws;
    if (layout_.ranks.empty()) plan_.devices = {root_.device};
    for (int64_t rank : layout_.ranks)
      plan_.devices.push_back(device_after(root_.device, rank - first_rank_));
    plan_.strings = root_.strings.all();
    plan_.numbers = root_.numbers;
    plan_.streams.emplace_back();
    pack_arenas();
    add_segments();
    owners_.assign(layout_.roots, -1);
    for (size_t i = 0; i < graph_.nodes.size(); i++)
      node_numbers_[graph_.nodes[i].get()] = static_cast<int>(i);
    for (const Place& leaf : layout_.leaves) value_of(leaf);
    add_actors();
    return std::move(plan_);
  }

 private:
  void add_actors() {
    // A region computes on one stream, and what draws numbers in one chain. A GPU's launches come together:
    // it records those of one chain.
    const bool region = &graph_ != &root_, elsewhere = root_.device != "cpu";
    const bool apart = !region && !has_open_draws(graph_) && (elsewhere || gains_by_streams(layout_));
    std::vector<ActorSteps> actors = cut_actors(layout_, apart);
    for (int device = 1; apart && device < static_cast<int>(plan_.devices.size()); device++)
      plan_.streams.push_back({plan::StreamKind::kCompute, device});
    int comm_stream = -1;
    for (const ActorSteps& cut : actors) {
      plan::Actor actor;
      actor.name = actors.size() == 1 ? "main" : name_of(cut);
      actor.stream = cut.device;
      if (cut.crossing) {
        if (comm_stream < 0) {
          comm_stream = static_cast<int>(plan_.streams.size());
          plan_.streams.push_back({plan::StreamKind::kComm, 0});
        }
        actor.kind = plan::ActorKind::kComm;
        actor.stream = comm_stream;
      }
      for (size_t step : cut.steps) {
        if (step >= layout_.commit && actor.commit < 0)
          actor.commit = static_cast<int>(actor.launches.size());
        actor.launches.push_back(launch_of(layout_.steps[step]));
      }
      plan_.actors.push_back(std::move(actor));
    }
    if (actors.size() > 1) add_registers(actors);
  }

  std::string name_of(const ActorSteps& actor) {
    const ir::Node* only = actor.steps.size() == 1 ? layout_.steps[actor.steps[0]].node : nullptr;
    if (!only || !ir::is_boxing_part(*only->def)) return cat("main ", chains_++);
    return cat("boxing ", static_cast<const ops::BoxingPartAttrs*>(only->attrs.get())->order);
  }

  // One an actor, without bytes: it says that the actor has ended. What waits for nobody waits for the last,
  // of the step before.
  void add_registers(const std::vector<ActorSteps>& actors) {
    int last = static_cast<int>(actors.size()) - 1;
    for (size_t i = 0; i < actors.size(); i++) {
      plan::Register ended;
      ended.name = plan_.actors[i].name;
      plan_.registers.push_back(std::move(ended));
      plan_.actors[i].writes = {static_cast<int>(i)};
      plan_.actors[i].reads = actors[i].after.empty() ? std::vector<int>{last} : actors[i].after;
    }
    plan_.registers.back().initial = 1;
  }

  // Every device has an arena, the segment of its number.
  void pack_arenas() {
    for (int device = 0; device < static_cast<int>(plan_.devices.size()); device++) {
      std::vector<Block> blocks;
      std::vector<Buffer*> packed;
      for (Buffer& buffer : layout_.buffers) {
        if (buffer.kind != plan::SegmentKind::kArena || buffer.device != device) continue;
        blocks.push_back({buffer.size_bytes, buffer.first, buffer.last, kArenaAlignment});
        packed.push_back(&buffer);
      }
      Packing packing = pack(blocks);
      for (size_t i = 0; i < packed.size(); i++) packed[i]->offset = packing.offsets[i];
      plan_.segments.push_back({plan::SegmentKind::kArena, device, packing.peak_bytes, device});
      plan_.lower_bound_bytes += packing.lower_bound_bytes;
    }
  }

  // Leaves and outputs have a segment each.
  void add_segments() {
    for (const Buffer& buffer : layout_.buffers) {
      segment_.push_back(buffer.device);
      if (buffer.kind == plan::SegmentKind::kArena) continue;
      segment_.back() = static_cast<int>(plan_.segments.size());
      plan_.segments.push_back({buffer.kind, buffer.index, buffer.size_bytes, buffer.device});
    }
  }

  // The number of the plan's value at a place; the first one of a root owns its bytes.
  int value_of(const Place& place) {
    plan::Value value;
    value.segment = segment_[place.buffer];
    // An empty window may begin where its buffer ends, or behind that.
    int64_t offset = numel(place.geometry.sizes) == 0 ? 0 : place.geometry.offset;
    value.offset_bytes = layout_.buffers[place.buffer].offset + offset * size_of(place.dtype);
    value.dtype = place.dtype;
    value.sizes = place.geometry.sizes;
    value.strides = place.geometry.strides;
    value.storage = owners_[place.root];
    if (value.storage >= 0) {
      const plan::Value& owner = plan_.values[value.storage];
      if (owner.offset_bytes == value.offset_bytes && owner.dtype == value.dtype &&
          owner.sizes == value.sizes && owner.strides == value.strides)
        return value.storage;
    }
    plan_.values.push_back(std::move(value));
    int number = static_cast<int>(plan_.values.size()) - 1;
    if (owners_[place.root] < 0) owners_[place.root] = number;
    return number;
  }

  plan::Launch launch_of(const Step& step) {
    plan::Launch launch;
    launch.op = "clone";
    if (step.node) {
      launch.op = step.node->def->name();
      launch.attrs = attributes_text(*step.node);
      launch.starts.assign(step.node->starts.begin(), step.node->starts.end());
      launch.draw = ir::draw_of(*step.node);
      for (const ir::Lifted& entry : step.node->lifted)
        launch.lifted.push_back({entry.param, entry.item, entry.number});
      launch.node = node_numbers_.at(step.node);
      if (auto region = regions_.find(step.node); region != regions_.end()) {
        launch.region = static_cast<int>(plan_.regions.size());
        plan_.regions.push_back(std::move(region->second));
      }
    }
    if (const ir::Node* source = step.node ? step.node : step.cause) {
      launch.module = source->module;
      launch.origin = source->origin;
    }
    for (size_t i = 0; i < step.inputs.size(); i++)
      launch.inputs.push_back(step.absent[i] ? -1 : value_of(step.inputs[i]));
    for (const Place& output : step.outputs) {
      launch.outputs.push_back(value_of(output));
      int taken = -1;
      for (size_t i = 0; i < step.inputs.size(); i++)
        if (!step.absent[i] && step.inputs[i].buffer == output.buffer) taken = static_cast<int>(i);
      launch.in_place.push_back(taken);
    }
    launch.mutated = step.mutated;
    for (const Place& place : step.becomes) launch.becomes.push_back(value_of(place));
    return launch;
  }

  ir::Graph& graph_;
  const ir::Graph& root_;
  MemoryLayout layout_;
  RegionPlans regions_;
  plan::Plan plan_;
  int64_t first_rank_;
  int chains_ = 0;  // that have a name
  std::unordered_map<const ir::Node*, int> node_numbers_;
  std::vector<int> segment_;  // of each buffer
  std::vector<int> owners_;   // of each root
};

}  // namespace

namespace {

// Whether something is computed while a crossing is in flight.
bool overlaps(const MemoryLayout& layout, const Order& order) {
  return std::ranges::any_of(layout.flights, [&](const Flight& flight) {
    for (size_t i = flight.step + 1; i < flight.done; i++)
      if (!order.crossings.contains(layout.steps[i].node)) return true;
    return false;
  });
}

}  // namespace

// The recorded order keeps results close to their readers, so another one must be worth it: it needs less
// memory and no more copies. Where regions draw random numbers, no node that draws may overtake another.
// Where processes meet, it is in the order of their graphs, and as early as can be. A graph that has to be
// one chain has its crossings there, as launches that wait; and so has a region in which nothing could be
// computed meanwhile, since every actor costs each of its iterations something.
Ordered choose_order(ir::Graph& graph, std::span<const Dims> input_strides, const RegionNeeds& regions) {
  Order recorded = recorded_order(graph);
  const std::unordered_set<const ir::Node*> crossings = find_crossings(graph);
  recorded.meetings = find_meetings(graph);
  const bool draws = has_open_draws(graph);
  if (!crossings.empty() && !draws) {
    Order posting = recorded;
    posting.crossings = crossings;
    posting = early_order(posting);
    MemoryLayout layout = lay_out(graph, posting, input_strides, regions);
    if (!regions.inside || overlaps(layout, posting)) return {std::move(posting), std::move(layout)};
  }
  MemoryLayout before = lay_out(graph, recorded, input_strides, regions);
  if (draws || !crossings.empty() || !recorded.meetings.empty())
    return {std::move(recorded), std::move(before)};
  Order lean = lean_order(graph, recorded);
  MemoryLayout after = lay_out(graph, lean, input_strides, regions);
  if (after.steps.size() <= before.steps.size() && live_peak(after) < live_peak(before))
    return {std::move(lean), std::move(after)};
  return {std::move(recorded), std::move(before)};
}

plan::Plan plan_graph(ir::Graph& graph, std::span<const Dims> input_strides, int64_t first_rank) {
  return plan_graph(graph, graph, input_strides, first_rank);
}

plan::Plan plan_graph(ir::Graph& graph, const ir::Graph& root, std::span<const Dims> input_strides,
                      int64_t first_rank) {
  graph.number();
  RegionPlans regions = plan_regions(graph, root, first_rank);
  RegionNeeds needs;
  needs.inside = &graph != &root;
  for (const auto& [node, region] : regions) needs.bytes[node] = arena_bytes(region);
  MemoryLayout layout = choose_order(graph, input_strides, needs).layout;
  plan::Plan plan = Writer(graph, root, std::move(layout), std::move(regions), first_rank).run();
  plan::seal(&plan);
  return plan;
}

}  // namespace tw::planner
