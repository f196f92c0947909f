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
// the same draw, which only a boxing gives. One walk; near-linear.
#include <unordered_map>

#include "ir/layouts.h"
#include "passes/sbp/layouts.h"

namespace tw::passes {

namespace {

using ir::Node;
using ir::Value;
using PlaceId = const void*;  // a placement, or the process for nodes on parts

constexpr char kProcess = 0;

class Placer {
 public:
  explicit Placer(ir::Graph& graph) : graph_(graph), locals_(graph) {}

  void run() {
    for (auto* leaves : {&graph_.inputs, &graph_.variables, &graph_.constants})
      for (const ir::Leaf& leaf : *leaves)
        if (leaf.value->layout) placed_[leaf.value.get()] = leaf.value->layout->placement.get();
    std::vector<std::unique_ptr<Node>> old = std::move(graph_.nodes);
    graph_.nodes.clear();
    for (auto& node : old) {
      place(*node);
      graph_.nodes.push_back(std::move(node));
    }
  }

 private:
  void place(Node& node) {
    if (locals_.reads_whole(node)) return place_local(node);
    const bool boxing = ir::is_boxing(*node.def);
    PlaceId placement = nullptr;
    for (const ir::GraphRef& output : node.outputs)
      if (output->layout) placement = output->layout->placement.get();
    for (const Value& input : node.inputs)
      if (auto at = placed_.find(input.get()); !placement && input && at != placed_.end())
        placement = at->second;
    if (!placement) return;
    if (ir::is_take_part(*node.def)) placement = &kProcess;
    for (const ir::GraphRef& output : node.outputs) placed_[output.get()] = placement;
    for (Value& input : node.inputs)
      if (input && !(boxing && placed_.contains(input.get()))) input = on(input, placement);
  }

  void place_local(Node& node) {
    for (Value& input : node.inputs)
      if (input && !placed_.contains(input.get())) input = on(input, &kProcess);
    for (const ir::GraphRef& output : node.outputs)
      placed_[output.get()] = output->layout ? PlaceId(output->layout->placement.get()) : &kProcess;
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
  ir::LocalNodes locals_;
  std::unordered_map<const ir::ValueImpl*, PlaceId> placed_;   // what is made of global values
  std::unordered_map<const ir::ValueImpl*, PlaceId> read_on_;  // who keeps other values
  std::unordered_map<PlaceId, std::unordered_map<const Node*, Node*>> copies_;
};

}  // namespace

void place_literals(ir::Graph& graph) { Placer(graph).run(); }

}  // namespace tw::passes
