#include "passes/sbp/placements.h"

#include <unordered_map>

namespace tw::passes {

namespace {

size_t id_of(const ir::Value& value) { return ir::graph_value(value).id; }

class Finder {
 public:
  Finder(const ir::Graph& graph, std::span<const FlatNode> nodes, size_t count)
      : graph_(graph), nodes_(nodes), found_(count), from_leaf_(count) {}

  std::vector<sbp::PlacementRef> run() {
    bool any = false, control = false;
    for (const auto* leaves : {&graph_.inputs, &graph_.variables, &graph_.constants})
      for (const ir::Leaf& leaf : *leaves) any |= note(*leaf.value);
    for (const FlatNode& flat : nodes_) {
      for (const ir::GraphValue* output : flat.outputs) any |= note(*output);
      control |= flat.around != nullptr;
    }
    if (!any) return std::move(found_);
    forwards();
    if (control) mark_local_sources();
    do {
      changed_ = false;
      backwards();
      if (control) forwards();
    } while (control && changed_);
    if (control) check_control();
    return std::move(found_);
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
      if (flat.kind == FlatKind::kPredicate) tie_predicate(flat);
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
               " and on ", *other, "; to_global brings one to the other");
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

  void tie_predicate(const FlatNode& flat) {
    sbp::PlacementRef placement;
    for (const ir::Value& input : flat.node->inputs)
      if (input && !placement) placement = found_[id_of(input)];
    for (const ir::GraphRef& output : flat.node->outputs)
      if (!placement) placement = found_[output->id];
    if (placement) set_all(flat, placement);
  }

  // Values that are made of local tensors alone, which may be other ones in other processes. Constants are
  // part of the program, as numbers are.
  void mark_local_sources() {
    for (const auto* leaves : {&graph_.inputs, &graph_.variables})
      for (const ir::Leaf& leaf : *leaves) from_leaf_[leaf.value->id] = !found_[leaf.value->id];
    for (int round = 0; round < 2; round++)  // the second time for what loops carry
      for (const FlatNode& flat : nodes_) {
        bool from = false;
        for (const ir::Value* input : flat.inputs) from |= input && from_leaf_[id_of(*input)];
        if (!from || flat.kind == FlatKind::kBoxing) continue;
        for (const ir::GraphValue* output : flat.outputs) from_leaf_[output->id] = !found_[output->id];
        if (flat.partner >= 0)
          for (const ir::GraphValue* output : nodes_[flat.partner].outputs)
            from_leaf_[output->id] = !found_[output->id];
      }
  }

  void check_control() const {
    std::unordered_map<const ir::Node*, sbp::PlacementRef> placements;
    for (const FlatNode& flat : nodes_) {
      if (!flat.around) continue;
      sbp::PlacementRef& known = placements[flat.around];
      auto meet = [&](const ir::GraphValue& value) {
        const sbp::PlacementRef& other = found_[value.id];
        if (!known) known = other;
        TW_CHECK(
            !other || known == other, kNotImplemented, flat.around->def->name(),
            ": a branch or a loop of a traced function works on one placement, but this one has tensors on ",
            *known, " and on ", *other, "; to_global brings them together before it");
      };
      for (const ir::Value* input : flat.inputs)
        if (input) meet(ir::graph_value(*input));
      for (const ir::GraphValue* output : flat.outputs) meet(*output);
    }
    for (const FlatNode& flat : nodes_) {
      if (flat.kind != FlatKind::kPredicate) continue;
      for (const ir::Value* input : flat.inputs)
        TW_CHECK(!input || !from_leaf_[id_of(*input)] || !found_[id_of(*input)], kPlacement,
                 flat.node->def->name(),
                 ": it decides by a local tensor, which each process has its own of, about ", "tensors on ",
                 *found_[id_of(*input)], "; to_global(placement, sbp.broadcast) of it says that ",
                 "all have the same");
    }
  }

  const ir::Graph& graph_;
  std::span<const FlatNode> nodes_;
  std::vector<sbp::PlacementRef> found_;
  std::vector<char> from_leaf_;
  bool changed_ = false;
};

}  // namespace

std::vector<sbp::PlacementRef> find_placements(const ir::Graph& graph, std::span<const FlatNode> nodes,
                                               size_t count) {
  return Finder(graph, nodes, count).run();
}

}  // namespace tw::passes
