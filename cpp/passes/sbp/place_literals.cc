// Gives what is made from nothing, and read on several placements, a node for each: a node runs on one.
//
//   input %0 "x" : float32[4] @cpu[0] B
//   input %1 "y" : float32[4] @cpu[1] B
//   %2 = full([], 2.0) : float32[]
//   %3 = mul(%0, %2) : float32[4]
//   %4 = mul(%1, %2) : float32[4]
//   return %3, %4
// →
//   %2 = full([], 2.0) : float32[]
//   %3 = mul(%0, %2) : float32[4]
//   %4 = full([], 2.0) : float32[]
//   %5 = mul(%1, %4) : float32[4]
//   return %3, %5
//
// The first placement that reads keeps the node. Random nodes stay: on both placements they would have to be
// the same draw, which only a boxing gives. Regions are looked through as the graph is, each by itself: what
// goes into them and comes out is read where its counterpart on the other side lies. Stages: (1) what is made
// of global values lies where they do, round loops until nothing changes; (2) one walk; near-linear.
#include <unordered_map>

#include "ir/layouts.h"
#include "passes/sbp/layouts.h"
#include "passes/sbp/places.h"

namespace tw::passes {

namespace {

using ir::Node;
using ir::Value;
// Of one graph, or region.
class Placer {
 public:
  Placer(ir::Graph& graph, const ir::LocalNodes& locals, Places& placed)
      : graph_(graph), locals_(locals), placed_(placed) {}

  void run() {
    std::vector<std::unique_ptr<Node>> old = std::move(graph_.nodes);
    graph_.nodes.clear();
    for (auto& node : old) {
      node->regions.empty() ? place(*node) : place_control(*node);
      graph_.nodes.push_back(std::move(node));
    }
  }

 private:
  void place(Node& node) {
    const bool boxing = ir::is_boxing(*node.def);
    PlaceId placement = nullptr;
    for (const ir::GraphRef& output : node.outputs)
      if (auto at = placed_.find(output.get()); !placement && at != placed_.end()) placement = at->second;
    for (const Value& input : node.inputs)
      if (auto at = placed_.find(input.get()); !placement && input && at != placed_.end())
        placement = at->second;
    if (locals_.reads_whole(node)) placement = &kProcess;
    if (!placement) return;
    for (Value& input : node.inputs)
      if (input && !(boxing && placed_.contains(input.get()))) input = on(input, placement);
  }

  void place_control(Node& node) {
    const size_t first = node.inputs.size() - node.regions[0]->inputs.size();
    for (size_t i = first; i < node.inputs.size(); i++)
      read_beside(node.inputs[i], *node.regions[0]->inputs[i - first].value);
    for (auto& region : node.regions) {
      Placer inside(*region, locals_, placed_);
      inside.run();
      const size_t skipped = region->outputs.size() - node.outputs.size();
      for (size_t i = 0; i < node.outputs.size(); i++)
        inside.read_beside(region->outputs[skipped + i], *node.outputs[i]);
    }
  }

  void read_beside(Value& value, const ir::ValueImpl& counterpart) {
    if (auto at = placed_.find(&counterpart); at != placed_.end()) value = on(value, at->second);
  }

  // The value as it is read on a placement.
  Value on(const Value& value, PlaceId placement) {
    if (placed_.contains(value.get())) return value;
    Node* node = ir::graph_value(value).node;
    if (!node || node->def->random_key_offset >= 0 || !node->regions.empty()) return value;
    auto [at, first] = read_on_.try_emplace(value.get(), placement);
    PlaceId& keeper = at->second;
    // What is made of others' nodes is nobody's: a copy stands behind those of its inputs.
    if (first)
      for (const Value& input : node->inputs)
        if (input && on(input, placement) != input) keeper = nullptr;
    return keeper == placement ? value : copy(*node, ir::graph_value(value).output, placement);
  }

  Value copy(const Node& node, int output, PlaceId placement) {
    std::unordered_map<const Node*, Node*>& copies = copies_[placement];
    Node*& known = copies[&node];
    if (!known) {
      ir::Values inputs;
      for (const Value& input : node.inputs) inputs.push_back(input ? on(input, placement) : Value());
      ir::PlaceOf place(graph_, node);
      Node& made = graph_.append(*node.def, {inputs.data(), inputs.size()},
                                 {node.starts.begin(), node.starts.size()}, node.attrs.get());
      made.lifted = node.lifted;
      copies[&node] = &made;
      return made.outputs[output];
    }
    return known->outputs[output];
  }

  ir::Graph& graph_;
  const ir::LocalNodes& locals_;
  Places& placed_;
  Places read_on_;  // who keeps other values
  std::unordered_map<PlaceId, std::unordered_map<const Node*, Node*>> copies_;
};

}  // namespace

void place_literals(ir::Graph& graph) {
  const ir::LocalNodes locals(graph);
  Places placed = find_places(graph);
  Placer(graph, locals, placed).run();
}

}  // namespace tw::passes
