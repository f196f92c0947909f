#include "passes/sbp/placements.h"

#include <algorithm>

#include "ir/control.h"
#include "sbp/joint.h"

namespace tw::passes {

namespace {

size_t id_of(const ir::Value& value) { return ir::graph_value(value).id; }

class Finder {
 public:
  Finder(const ir::Graph& graph, std::span<const FlatNode> nodes, size_t count)
      : graph_(graph), nodes_(nodes), found_(count), from_local_(count) {}

  Placements run() {
    bool any = false, control = false;
    for (const auto* leaves : {&graph_.inputs, &graph_.variables, &graph_.constants})
      for (const ir::Leaf& leaf : *leaves) any |= note(*leaf.value);
    for (const FlatNode& flat : nodes_) {
      for (const ir::GraphValue* output : flat.outputs) any |= note(*output);
      control |= flat.around != nullptr;
    }
    if (!any) return {std::move(found_), {}};
    forwards();
    if (control) mark_local_sources();
    settle(control);
    if (control) place_decisions();
    return {std::move(found_), std::move(deciding_)};
  }

 private:
  bool note(const ir::GraphValue& value) {
    if (value.layout) found_[value.id] = value.layout->placement;
    return value.layout != nullptr;
  }

  void set(const ir::GraphValue& value, const sbp::PlacementRef& placement) {
    if (found_[value.id]) return;
    found_[value.id] = placement;
    changed_ = true;
  }

  static bool is_tie(const FlatNode& flat) {
    return flat.kind == FlatKind::kEnter || flat.kind == FlatKind::kExit;
  }

  void settle(bool control) {
    do {
      changed_ = false;
      backwards();
      if (control) forwards();
    } while (control && changed_);
  }

  void forwards() {
    for (const FlatNode& flat : nodes_) {
      if (is_tie(flat)) tie(flat);
      if (flat.kind != FlatKind::kNode) continue;
      if (const sbp::PlacementRef placement = placement_of(flat))
        for (const ir::GraphValue* output : flat.outputs) set(*output, placement);
    }
  }

  void backwards() {
    for (size_t i = nodes_.size(); i-- > 0;) {
      const FlatNode& flat = nodes_[i];
      if (is_tie(flat)) tie(flat);
      if (flat.kind == FlatKind::kBoxing && !found_[id_of(*flat.inputs[0])])
        set(ir::graph_value(*flat.inputs[0]), found_[flat.outputs[0]->id]);
      if (flat.kind != FlatKind::kNode) continue;
      const sbp::PlacementRef placement = placement_of(flat);
      if (placement) set_all(flat, placement);
    }
  }

  void set_all(const FlatNode& flat, const sbp::PlacementRef& placement) {
    for (ir::Value* input : flat.inputs)
      if (input) set(ir::graph_value(*input), placement);
    for (const ir::GraphValue* output : flat.outputs) set(*output, placement);
  }

  // Of what a node reads and gives, as far as it is known.
  sbp::PlacementRef placement_of(const FlatNode& flat) const {
    sbp::PlacementRef found;
    auto meet = [&](const ir::GraphValue& value) {
      const sbp::PlacementRef& other = found_[value.id];
      if (!other) return;
      if (!found) found = other;
      TW_CHECK(found == other, kPlacement, flat.node->def->name(), ": its tensors lie on ", *found,
               " and on ", *other, "; to_global brings one to the other", at_line(*flat.node));
    };
    for (const ir::Value* input : flat.inputs)
      if (input) meet(ir::graph_value(*input));
    for (const ir::GraphValue* output : flat.outputs) meet(*output);
    return found;
  }

  // Of a carried value, what goes in and round, and what comes out.
  void tie(const FlatNode& flat) {
    sbp::PlacementRef placement = any_of(flat);
    const FlatNode* partner = flat.partner < 0 ? nullptr : &nodes_[flat.partner];
    if (!placement && partner) placement = any_of(*partner);
    if (!placement) return;
    set_all(flat, placement);
    if (partner) set_all(*partner, placement);
  }
  sbp::PlacementRef any_of(const FlatNode& flat) const {
    for (const ir::Value* input : flat.inputs)
      if (input && found_[id_of(*input)]) return found_[id_of(*input)];
    for (const ir::GraphValue* output : flat.outputs)
      if (found_[output->id]) return found_[output->id];
    return nullptr;
  }

  // Decisions by numbers are made where they are wanted. That may place more of what they are made of.
  void place_decisions() {
    find_deciding();
    for (const FlatNode& flat : nodes_) {
      if (flat.kind != FlatKind::kPredicate || !deciding_[flat.node]) continue;
      for (const ir::Value* input : flat.inputs) {
        if (!input || found_[id_of(*input)]) continue;
        TW_CHECK(!from_local_[id_of(*input)], kPlacement, flat.node->def->name(),
                 ": it decides by a local tensor, which each process has its own of, about tensors on ",
                 *deciding_[flat.node], "; to_global(placement, sbp.broadcast) of it says that ",
                 "all have the same", at_line(*flat.node));
        set(ir::graph_value(*input), deciding_[flat.node]);
      }
    }
    settle(true);
    find_deciding();
  }

  void find_deciding() {
    std::vector<sbp::PlacementRef> everywhere;
    for (const sbp::PlacementRef& one : found_) add(one, everywhere);
    for (const auto& node : graph_.nodes) find_deciding(*node, everywhere);
  }
  // Returns all placements that the node has to do with.
  std::vector<sbp::PlacementRef> find_deciding(const ir::Node& node,
                                               const std::vector<sbp::PlacementRef>& everywhere) {
    std::vector<sbp::PlacementRef> all, own;
    for (size_t i = 0; i < node.inputs.size(); i++)
      if (node.inputs[i]) add(found_[id_of(node.inputs[i])], ir::decides(node, i) ? own : all);
    for (const ir::GraphRef& output : node.outputs) add(found_[output->id], all);
    for (const auto& region : node.regions)
      for (const auto& inside : region->nodes)
        for (const sbp::PlacementRef& one : find_deciding(*inside, everywhere)) add(one, all);
    if (node.regions.empty()) return all;
    if (ir::has_open_draws(node)) all = everywhere;
    const auto& list = all.empty() ? own : all;
    deciding_[&node] = list.empty() ? nullptr : sbp::joint_placement(list);
    return all;
  }
  static void add(const sbp::PlacementRef& one, std::vector<sbp::PlacementRef>& list) {
    if (one && std::ranges::find(list, one) == list.end()) list.push_back(one);
  }

  std::string at_line(const ir::Node& node) const {
    return node.origin ? cat("\n  at ", graph_.strings[node.origin]) : "";
  }

  // Values that are made of local tensors or of parts, which may be other ones in other processes. Constants
  // are part of the program, as numbers are.
  void mark_local_sources() {
    for (const auto* leaves : {&graph_.inputs, &graph_.variables})
      for (const ir::Leaf& leaf : *leaves) from_local_[leaf.value->id] = !found_[leaf.value->id];
    for (int round = 0; round < 2; round++)  // the second time for what loops carry
      for (const FlatNode& flat : nodes_) {
        bool from = flat.kind == FlatKind::kLocal;
        for (const ir::Value* input : flat.inputs) from |= input && from_local_[id_of(*input)];
        if (!from || flat.kind == FlatKind::kBoxing) continue;
        for (const ir::GraphValue* output : flat.outputs) from_local_[output->id] = !found_[output->id];
        if (flat.partner >= 0)
          for (const ir::GraphValue* output : nodes_[flat.partner].outputs)
            from_local_[output->id] = !found_[output->id];
      }
  }

  const ir::Graph& graph_;
  std::span<const FlatNode> nodes_;
  std::vector<sbp::PlacementRef> found_;
  std::vector<char> from_local_;
  std::unordered_map<const ir::Node*, sbp::PlacementRef> deciding_;
  bool changed_ = false;
};

}  // namespace

Placements find_placements(const ir::Graph& graph, std::span<const FlatNode> nodes, size_t count) {
  return Finder(graph, nodes, count).run();
}

}  // namespace tw::passes
