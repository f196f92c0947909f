#include "passes/sbp/problem.h"

#include <algorithm>

#include "ir/layouts.h"
#include "passes/sbp/candidates.h"

namespace tw::passes {

namespace {

using Layouts = std::vector<const sbp::Layout*>;

class Stater {
 public:
  Stater(ir::Graph& graph, const machine::Machine& machine) : graph_(graph), maker_(machine) {
    auto count = static_cast<size_t>(graph.number());
    placements_.resize(count);
    given_.resize(count);
    candidates_.resize(count);
    result_.numbers.assign(count, -1);
  }

  GraphProblem run() {
    if (find_placements()) state_problem();
    return std::move(result_);
  }

 private:
  static size_t id_of(const ir::Value& value) { return ir::graph_value(value).id; }

  // --- placements ---

  bool find_placements() {
    bool any = false;
    for_each_leaf([&](const ir::Leaf& leaf) { any |= note(*leaf.value); });
    for (auto& node : graph_.nodes)
      for (const ir::GraphRef& output : node->outputs) any |= note(*output);
    if (!any) return false;
    for (auto& node : graph_.nodes) {
      if (ir::is_boxing(*node->def)) {
        TW_CHECK(given_[node->outputs[0]->id], kInternal, "boxing: its output has no layout");
        continue;
      }
      const sbp::PlacementRef placement = placement_of(*node);
      if (placement)
        for (const ir::GraphRef& output : node->outputs) set_placement(*output, placement);
    }
    // What nothing has been said of lies where it is read.
    for (size_t i = graph_.nodes.size(); i-- > 0;) {
      const ir::Node& node = *graph_.nodes[i];
      sbp::PlacementRef placement = placement_of(node);
      if (!placement && ir::is_boxing(*node.def)) placement = placements_[node.outputs[0]->id];
      if (!placement) continue;
      for (const ir::Value& input : node.inputs)
        if (input) set_placement(ir::graph_value(input), placement);
      for (const ir::GraphRef& output : node.outputs) set_placement(*output, placement);
    }
    return true;
  }

  template <class Body>
  void for_each_leaf(const Body& body) {
    for (auto* leaves : {&graph_.inputs, &graph_.variables, &graph_.constants})
      for (const ir::Leaf& leaf : *leaves) body(leaf);
  }

  bool note(const ir::GraphValue& value) {
    if (!value.layout) return false;
    given_[value.id] = value.layout.get();
    placements_[value.id] = value.layout->placement;
    return true;
  }

  void set_placement(const ir::GraphValue& value, const sbp::PlacementRef& placement) {
    if (!placements_[value.id]) placements_[value.id] = placement;
  }

  // Of what a node reads and gives, as far as it is known.
  sbp::PlacementRef placement_of(const ir::Node& node) {
    sbp::PlacementRef found;
    for (const ir::GraphValue* tensor : ir::tensors_of(node)) {
      if (!tensor || !placements_[tensor->id]) continue;
      if (ir::is_boxing(*node.def) && tensor == node.outputs[0].get()) continue;
      if (!found) found = placements_[tensor->id];
      TW_CHECK(found == placements_[tensor->id], kPlacement, node.def->name(), ": its tensors lie on ",
               *found, " and on ", *placements_[tensor->id], "; to_global brings one to the other");
    }
    return found;
  }

  // --- the problem ---

  void state_problem() {
    for_each_leaf([&](const ir::Leaf& leaf) {
      const ir::GraphValue& value = *leaf.value;
      if (!placements_[value.id]) return;
      if (!given_[value.id]) given_[value.id] = broadcast_on(placements_[value.id]);
      leaf.value->layout = sbp::LayoutRef(given_[value.id]);
      add_value(value).given = given_[value.id];
      candidates_[value.id] = {given_[value.id]};
    });
    for (auto& node : graph_.nodes)
      if (!node->outputs.empty() ? static_cast<bool>(placements_[node->outputs[0]->id])
                                 : static_cast<bool>(placement_of(*node)))
        add_node(*node);
    for (ir::Value& output : graph_.outputs)
      if (global_number(output) >= 0) add_use(output, nullptr);
    for (ir::Assignment& one : graph_.assignments) {
      const sbp::LayoutRef& wanted = graph_.variables[one.variable].value->layout;
      if (global_number(one.value) < 0 || !wanted) continue;
      check_placement(one, *wanted);
      add_use(one.value, wanted.get());
    }
  }

  void add_use(ir::Value& value, const sbp::Layout* wanted) {
    result_.problem.uses.push_back({global_number(value), wanted});
    result_.uses.push_back(&value);
  }

  void check_placement(const ir::Assignment& one, const sbp::Layout& wanted) const {
    const sbp::PlacementRef& placement = placements_[id_of(one.value)];
    TW_CHECK(placement == wanted.placement, kPlacement, "variable \"", graph_.variables[one.variable].name,
             "\" lies on ", *wanted.placement, ", but is assigned what lies on ", *placement);
  }

  static const sbp::Layout* broadcast_on(const sbp::PlacementRef& placement) {
    return sbp::layout(placement, sbp::NdSbp(placement->shape.size())).get();
  }

  SearchValue& add_value(const ir::GraphValue& value) {
    result_.numbers[value.id] = static_cast<int>(result_.problem.values.size());
    result_.problem.values.push_back({value.sizes, size_of(value.dtype), nullptr});
    return result_.problem.values.back();
  }

  int global_number(const ir::Value& value) const { return result_.numbers[id_of(value)]; }

  void add_node(ir::Node& node) {
    SearchNode made;
    made.boxing = ir::is_boxing(*node.def);
    std::vector<Layouts> layouts;
    for (const ir::Value& input : node.inputs) {
      made.inputs.push_back(input ? global_number(input) : -1);
      layouts.push_back(input ? candidates_[id_of(input)] : Layouts());
    }
    for (const ir::GraphRef& output : node.outputs) {
      layouts.push_back(given_[output->id] ? Layouts{given_[output->id]} : Layouts());
      add_value(*output);
      made.outputs.push_back(result_.numbers[output->id]);
    }
    if (made.boxing)
      made.candidates = {{{nullptr, given_[node.outputs[0]->id]}, 0}};
    else
      made.candidates = maker_.candidates_of(node, placement_of(node), layouts);
    for (size_t o = 0; o < node.outputs.size(); o++) {
      Layouts& possible = candidates_[node.outputs[o]->id];
      for (const Candidate& candidate : made.candidates) {
        const sbp::Layout* layout = candidate.layouts[node.inputs.size() + o];
        if (std::ranges::find(possible, layout) == possible.end()) possible.push_back(layout);
      }
    }
    result_.nodes.push_back(&node);
    result_.problem.nodes.push_back(std::move(made));
  }

  ir::Graph& graph_;
  CandidateMaker maker_;
  // By the ids of values.
  std::vector<sbp::PlacementRef> placements_;
  Layouts given_;
  std::vector<Layouts> candidates_;
  GraphProblem result_;
};

}  // namespace

GraphProblem problem_of(ir::Graph& graph, const machine::Machine& machine) {
  GraphProblem stated = Stater(graph, machine).run();
  stated.problem.meeting_seconds = machine.meeting_seconds;
  stated.problem.meeting_seconds_per_byte = machine.meeting_seconds_per_byte;
  return stated;
}

}  // namespace tw::passes
