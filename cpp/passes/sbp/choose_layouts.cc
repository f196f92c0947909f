// Gives every value a layout, where some have one: those of inputs and variables, and what a boxing gives,
// are the user's. The others are such that computing and boxing take the least time; see search.h. Boxings
// stand before the nodes that want a value in another layout, and are shared by later ones.
//
//   input %0 "x" : float32[4, 8] @cpu[0, 1] S(0)
//   variable %1 "w" : float32[6, 8] @cpu[0, 1] B
//   %2 = linear(%0, %1, None) : float32[4, 6]
//   %3 = sum(%2) : float32[]
//   return %3
// →
//   input %0 "x" : float32[4, 8] @cpu[0, 1] S(0)
//   variable %1 "w" : float32[6, 8] @cpu[0, 1] B
//   %2 = linear(%0, %1, None) : float32[4, 6] @cpu[0, 1] S(0)
//   %3 = sum(%2) : float32[] @cpu[0, 1] P(sum)
//   %4 = boxing(%3) : float32[] @cpu[0, 1] B
//   return %4
//
// A node runs where its inputs lie, and what it is said to give; one without either, where it is read. Leaves
// without a layout are known to all devices of the placement that reads them. What has to do with no global
// value stays local. Nothing that leaves the graph is pending, unless it is a variable that is, or boxed to
// be.
//
// Control flow is chosen for together with what it holds (flat.h). What decides is known to all devices.
// Values go into regions, and come out, in one layout; what a loop carries begins in the layout in which it
// goes round. How it is best begun is found by a search that lets it come round in any layout; then the
// problem is solved with that. Costs in loops count as often as these run.
#include "passes/sbp/layouts.h"

#include "passes/sbp/problem.h"
#include "passes/sbp/sources.h"

namespace tw::passes {

namespace {

// Writes a solution into its graph.
class Writer {
 public:
  Writer(ir::Graph& graph, const GraphProblem& stated, const Choices& choices)
      : graph_(graph),
        stated_(stated),
        problem_(stated.problem),
        choices_(choices),
        available_(stated.numbers.size()),
        times_(stated.problem.meeting_seconds, stated.problem.meeting_seconds_per_byte) {}

  void run() {
    for (auto* leaves : {&graph_.inputs, &graph_.variables, &graph_.constants})
      for (const ir::Leaf& leaf : *leaves) available_[leaf.value->id] = {leaf.value};
    write(graph_);
    for (size_t i = 0; i < stated_.uses.size(); i++)
      *stated_.uses[i] = taken(graph_, *stated_.uses[i], demand_of(problem_.uses[i]));
  }

 private:
  void write(ir::Graph& graph) {
    std::vector<std::unique_ptr<ir::Node>> old = std::move(graph.nodes);
    graph.nodes.clear();
    for (auto& node : old) {
      if (!node->regions.empty())
        write_control(*node);
      else if (is_next(*node))
        lay_out(next_++);
      graph.nodes.push_back(std::move(node));
    }
  }
  bool is_next(const ir::Node& node) const {
    return next_ < stated_.nodes.size() && stated_.nodes[next_].node == &node;
  }

  // What enters its regions is boxed around it, what leaves them inside.
  void write_control(ir::Node& node) {
    while (is_next(node) && stated_.nodes[next_].kind != FlatKind::kExit) lay_out(next_++);
    for (auto& region : node.regions) write(*region);
    while (is_next(node)) lay_out(next_++);
  }

  void lay_out(size_t number) {
    const FlatNode& flat = stated_.nodes[number];
    const SearchNode& searched = problem_.nodes[number];
    const Candidate& candidate = searched.candidates[choices_.candidates[number]];
    for (size_t i = 0; i < flat.inputs.size(); i++) {
      if (!flat.inputs[i] || searched.inputs[i] < 0) continue;
      ir::PlaceOf place(*flat.graphs[i], *flat.node);
      *flat.inputs[i] = taken(*flat.graphs[i], *flat.inputs[i], demand_of(searched, candidate, i));
    }
    if (searched.outputs.size() != flat.outputs.size()) return;  // local values
    for (size_t o = 0; o < flat.outputs.size(); o++) {
      flat.outputs[o]->layout = sbp::LayoutRef(candidate.layouts[flat.inputs.size() + o]);
      available_[flat.outputs[o]->id] = {ir::GraphRef(flat.outputs[o])};
    }
  }

  // The value as it is demanded; boxed where it is not available so.
  ir::Value taken(ir::Graph& graph, const ir::Value& value, const Demand& demand) {
    const int id = ir::graph_value(value).id;
    std::vector<ir::GraphRef>& all = available_[id];
    std::vector<const sbp::Layout*> layouts;
    for (const ir::GraphRef& one : all) layouts.push_back(one->layout.get());
    Source source = source_of(layouts, demand, problem_.values[stated_.numbers[id]], times_);
    ir::Value from = all[source.from];
    if (!source.made) return from;
    static const ir::OpDef& boxing = ir::registry().get("boxing");
    ir::Node& node = graph.append(boxing, {&from, 1}, {}, boxing.defaults());
    node.outputs[0]->layout = sbp::LayoutRef(source.made);
    all.push_back(node.outputs[0]);
    return node.outputs[0];
  }

  ir::Graph& graph_;
  const GraphProblem& stated_;
  const Problem& problem_;
  const Choices& choices_;
  std::vector<std::vector<ir::GraphRef>> available_;  // by the ids that values had at first
  BoxingTimes times_;
  size_t next_ = 0;  // of the problem's nodes
};

}  // namespace

bool choose_layouts(ir::Graph& graph, const machine::Machine& machine) {
  GraphProblem stated = problem_of(graph, machine);
  Choices choices = search(stated.problem);
  if (stated.carries) {
    stated = problem_of(graph, machine, carried_by(stated, choices));
    choices = search(stated.problem);
    choices.exact = false;
  }
  Writer(graph, stated, choices).run();
  return choices.exact;
}

void choose_layouts(ir::Graph& graph) { choose_layouts(graph, machine::Machine()); }

void choose_layouts_of_processes(ir::Graph& graph) { choose_layouts(graph, machine::kProcesses); }

}  // namespace tw::passes
