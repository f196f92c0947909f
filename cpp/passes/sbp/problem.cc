#include "passes/sbp/problem.h"

#include <algorithm>

#include "ops/boxing/local_parts.h"
#include "passes/sbp/boundary.h"
#include "passes/sbp/candidates.h"
#include "passes/sbp/placements.h"
#include "sbp/joint.h"

namespace tw::passes {

namespace {

class Stater {
 public:
  Stater(ir::Graph& graph, const machine::Machine& machine, const CarriedLayouts& carried)
      : graph_(graph), maker_(machine), carried_(carried) {
    size_t count = 0;
    nodes_ = flatten(graph, &count);
    Placements found = find_placements(graph, nodes_, count);
    placements_ = std::move(found.of_values);
    deciding_ = std::move(found.deciding);
    given_.resize(count);
    candidates_.resize(count);
    result_.numbers.assign(count, -1);
  }

  GraphProblem run() {
    const bool any = std::ranges::any_of(placements_, [](const auto& one) { return one != nullptr; });
    if (any) state_problem();
    return std::move(result_);
  }

 private:
  static size_t id_of(const ir::Value& value) { return ir::graph_value(value).id; }
  const sbp::PlacementRef& placement_of(const ir::Value& value) const { return placements_[id_of(value)]; }

  void state_problem() {
    for (auto* leaves : {&graph_.inputs, &graph_.variables, &graph_.constants})
      for (const ir::Leaf& leaf : *leaves) add_leaf(*leaf.value);
    for (FlatNode& flat : nodes_)
      if (is_global(flat)) add_node(flat);
    for (ir::Value& output : graph_.outputs)
      if (global_number(output) >= 0) add_use(output, pending_by_word(ir::graph_value(output)));
    for (ir::Assignment& one : graph_.assignments) {
      const sbp::LayoutRef& wanted = graph_.variables[one.variable].value->layout;
      if (global_number(one.value) < 0 || !wanted) continue;
      check_placement(one, *wanted);
      add_use(one.value, wanted.get());
    }
  }

  void add_leaf(ir::GraphValue& value) {
    if (!placements_[value.id]) return;
    given_[value.id] = value.layout ? value.layout.get() : broadcast_on(placements_[value.id]);
    value.layout = sbp::LayoutRef(given_[value.id]);
    add_value(value, 1).given = given_[value.id];
    candidates_[value.id] = {given_[value.id]};
  }

  // Nodes without outputs, and those that give local values, run where what they read lies.
  bool is_global(const FlatNode& flat) const {
    if (!flat.outputs.empty() && flat.kind != FlatKind::kLocal)
      return placements_[flat.outputs[0]->id] != nullptr;
    for (const ir::GraphValue* output : flat.outputs)
      if (output->layout) return true;
    return std::ranges::any_of(flat.inputs,
                               [&](const ir::Value* input) { return input && placement_of(*input); });
  }

  void add_use(ir::Value& value, const sbp::Layout* wanted) {
    result_.problem.uses.push_back({global_number(value), wanted, broadcast_on(placement_of(value))});
    result_.uses.push_back(&value);
  }

  // Who boxes to a pending sum, and returns it, wants it so.
  static const sbp::Layout* pending_by_word(const ir::GraphValue& value) {
    return value.node && value.layout && value.layout->has_partial() ? value.layout.get() : nullptr;
  }

  void check_placement(const ir::Assignment& one, const sbp::Layout& wanted) const {
    const sbp::PlacementRef& placement = placement_of(one.value);
    TW_CHECK(placement == wanted.placement, kPlacement, "variable \"", graph_.variables[one.variable].name,
             "\" lies on ", *wanted.placement, ", but is assigned what lies on ", *placement);
  }

  SearchValue& add_value(const ir::GraphValue& value, double times) {
    result_.numbers[value.id] = static_cast<int>(result_.problem.values.size());
    result_.problem.values.push_back({value.sizes, size_of(value.dtype), nullptr, times});
    return result_.problem.values.back();
  }

  int global_number(const ir::Value& value) const { return result_.numbers[id_of(value)]; }

  void add_node(FlatNode& flat) {
    SearchNode made;
    made.boxing = flat.kind == FlatKind::kBoxing;
    std::vector<Layouts> layouts;
    for (const ir::Value* input : flat.inputs) {
      made.inputs.push_back(input ? global_number(*input) : -1);
      layouts.push_back(input ? candidates_[id_of(*input)] : Layouts());
    }
    for (const ir::GraphValue* output : flat.outputs) {
      if (flat.kind == FlatKind::kLocal && !output->layout) continue;
      given_[output->id] = output->layout.get();
      layouts.push_back(given_[output->id] ? Layouts{given_[output->id]} : Layouts());
      add_value(*output, flat.times);
      made.outputs.push_back(result_.numbers[output->id]);
    }
    made.candidates = candidates_of(flat, layouts);
    if (made.outputs.size() == flat.outputs.size()) note_candidates(flat, made);
    result_.nodes.push_back(std::move(flat));
    result_.problem.nodes.push_back(std::move(made));
  }

  void note_candidates(const FlatNode& flat, const SearchNode& made) {
    for (size_t o = 0; o < flat.outputs.size(); o++) {
      Layouts& possible = candidates_[flat.outputs[o]->id];
      for (const Candidate& candidate : made.candidates) {
        const sbp::Layout* layout = candidate.layouts[flat.inputs.size() + o];
        if (std::ranges::find(possible, layout) == possible.end()) possible.push_back(layout);
      }
    }
  }

  std::vector<Candidate> candidates_of(const FlatNode& flat, const std::vector<Layouts>& layouts) {
    switch (flat.kind) {
      case FlatKind::kBoxing:
        return {{{nullptr, given_[flat.outputs[0]->id]}, 0}};
      case FlatKind::kLocal:
        return {local_candidate(flat)};
      case FlatKind::kPredicate:
        return {known_to_all(flat)};
      case FlatKind::kEnter:
      case FlatKind::kExit:
        return boundary_candidates(flat, layouts, carried_layout(flat), placement_at(flat));
      default:
        break;
    }
    std::vector<Candidate> found = maker_.candidates_of(*flat.node, node_placement(flat), layouts);
    for (Candidate& candidate : found) candidate.seconds *= flat.times;
    return found;
  }

  sbp::PlacementRef node_placement(const FlatNode& flat) const {
    for (const ir::Value* input : flat.inputs)
      if (input && placement_of(*input)) return placement_of(*input);
    return placements_[flat.outputs.at(0)->id];
  }
  const sbp::PlacementRef& placement_at(const FlatNode& flat) const {
    return placements_[flat.outputs[0]->id];
  }

  Candidate whole_inputs(const FlatNode& flat) const {
    Candidate candidate;
    for (const ir::Value* input : flat.inputs)
      candidate.layouts.push_back(input && placement_of(*input) ? broadcast_on(placement_of(*input))
                                                                : nullptr);
    return candidate;
  }

  // What decides is known wherever its control flow has something to do.
  Candidate known_to_all(const FlatNode& flat) const {
    Candidate candidate;
    const sbp::PlacementRef& all = deciding_.at(flat.node);
    for (const ir::Value* input : flat.inputs) {
      const sbp::PlacementRef own = input ? placement_of(*input) : nullptr;
      candidate.layouts.push_back(own ? broadcast_on(sbp::covers(*own, *all) ? own : all) : nullptr);
    }
    return candidate;
  }

  // Local nodes read whole; a part is taken of what lies as it says.
  Candidate local_candidate(const FlatNode& flat) const {
    Candidate candidate = whole_inputs(flat);
    if (ir::is_take_part(*flat.node->def)) {
      ir::TextLexer lexer(static_cast<const ops::TakePartAttrs*>(flat.node->attrs.get())->layout);
      candidate.layouts[0] = ir::parse_layout(lexer).get();
    }
    for (const ir::GraphValue* output : flat.outputs)
      if (output->layout) candidate.layouts.push_back(output->layout.get());
    return candidate;
  }

  // Of a value that is carried: its layout, where that is known.
  const sbp::Layout* carried_layout(const FlatNode& flat) {
    if (flat.partner < 0) return nullptr;
    result_.carries = true;
    if (flat.kind == FlatKind::kExit) return exits_[&flat];
    auto at = carried_.find(flat.outputs[0]);
    const sbp::Layout* layout = at == carried_.end() ? nullptr : at->second;
    exits_[&nodes_[flat.partner]] = layout;
    return layout;
  }

  ir::Graph& graph_;
  CandidateMaker maker_;
  const CarriedLayouts& carried_;
  std::vector<FlatNode> nodes_;
  std::unordered_map<const FlatNode*, const sbp::Layout*> exits_;    // of carried values
  std::unordered_map<const ir::Node*, sbp::PlacementRef> deciding_;  // by control flow
  // By the ids of values.
  std::vector<sbp::PlacementRef> placements_;
  Layouts given_;
  std::vector<Layouts> candidates_;
  GraphProblem result_;
};

}  // namespace

GraphProblem problem_of(ir::Graph& graph, const machine::Machine& machine, const CarriedLayouts& carried) {
  GraphProblem stated = Stater(graph, machine, carried).run();
  stated.problem.meeting_seconds = machine.meeting_seconds;
  stated.problem.meeting_seconds_per_byte = machine.meeting_seconds_per_byte;
  return stated;
}

CarriedLayouts carried_by(const GraphProblem& stated, const Choices& choices) {
  CarriedLayouts carried;
  for (size_t i = 0; i < stated.nodes.size(); i++) {
    const FlatNode& flat = stated.nodes[i];
    if (flat.kind != FlatKind::kEnter || flat.partner < 0) continue;
    carried[flat.outputs[0]] = stated.problem.nodes[i].candidates[choices.candidates[i]].layouts.back();
  }
  return carried;
}

}  // namespace tw::passes
