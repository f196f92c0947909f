#include "session/joint.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "passes/pointwise.h"

namespace tw::session {

namespace {

using ir::GraphValue;
using ir::Node;
using ir::Value;

// Made again rather than kept: it costs nothing, or next to nothing.
bool is_cheap(const Node& node) {
  bool literal = node.inputs.empty() && node.outputs.size() == 1 && node.outputs[0]->count() <= 1 &&
                 node.def->random_key_offset < 0;
  return node.def->view != nullptr || literal;
}

// Nodes that compute with the gradients of results.
std::unordered_set<const Node*> nodes_after_seeds(const ir::Graph& graph, size_t first_seed) {
  std::unordered_set<const ir::ValueImpl*> seeded;
  for (size_t i = first_seed; i < graph.inputs.size(); i++) seeded.insert(graph.inputs[i].value.get());
  std::unordered_set<const Node*> nodes;
  for (const auto& node : graph.nodes) {
    if (std::none_of(node->inputs.begin(), node->inputs.end(),
                     [&](const Value& input) { return seeded.count(input.get()) > 0; }))
      continue;
    nodes.insert(node.get());
    for (const ir::GraphRef& output : node->outputs) seeded.insert(output.get());
  }
  return nodes;
}

// Those that results and assignments need, and those that raise errors as soon as they can.
std::unordered_set<const Node*> forward_nodes(const ir::Graph& graph, size_t first_seed) {
  std::unordered_set<const Node*> nodes;
  auto need = [&](const Value& value) {
    if (value && ir::graph_value(value).node) nodes.insert(ir::graph_value(value).node);
  };
  auto seeded = nodes_after_seeds(graph, first_seed);
  for (const auto& node : graph.nodes)
    if (node->outputs.empty() && !seeded.count(node.get())) nodes.insert(node.get());
  for (const Value& output : graph.outputs) need(output);
  for (const ir::Assignment& assignment : graph.assignments) need(assignment.value);
  for (size_t i = graph.nodes.size(); i-- > 0;)
    if (nodes.count(graph.nodes[i].get()))
      for (const Value& input : graph.nodes[i]->inputs) need(input);
  return nodes;
}

class Splitter {
 public:
  Splitter(ir::Graph& graph, size_t first_seed)
      : graph_(graph), forward_(forward_nodes(graph, first_seed)), first_seed_(first_seed) {
    split_.backward = std::make_unique<ir::Graph>();
    split_.backward->name = graph.name + " backward";
    split_.backward->device = graph.device;
    split_.backward->strings = graph.strings;
    split_.backward->draws = graph.draws;  // what it draws again has its number
    number(graph.inputs, &inputs_);
    number(graph.variables, &variables_);
    number(graph.constants, &constants_);
    for (const ir::Assignment& assignment : graph.assignments)
      assigned_.insert(graph.variables[assignment.variable].value.get());
  }

  Split run(const std::vector<Value>& gradients) {
    std::vector<std::unique_ptr<Node>> kept;
    for (auto& node : graph_.nodes) {
      if (forward_.count(node.get())) {
        kept.push_back(std::move(node));
      } else {
        for (Value& input : node->inputs)
          if (input) input = in_backward(input);
        split_.backward->nodes.push_back(std::move(node));
      }
    }
    for (const Value& gradient : gradients) split_.backward->outputs.push_back(in_backward(gradient));
    graph_.nodes = std::move(kept);
    graph_.inputs.resize(first_seed_);
    return std::move(split_);
  }

 private:
  using Numbers = std::unordered_map<const ir::ValueImpl*, int>;
  static void number(const std::vector<ir::Leaf>& leaves, Numbers* numbers) {
    for (size_t i = 0; i < leaves.size(); i++) (*numbers)[leaves[i].value.get()] = static_cast<int>(i);
  }

  // The value of the backward graph that stands for one of the joint graph.
  Value in_backward(const Value& value) {
    const Node* node = ir::graph_value(value).node;
    if (node && !forward_.count(node)) return value;
    Value& known = known_[value.get()];
    if (!known) {
      int nodes = 0;
      bool made_again = node && (is_cheap(*node) || can_be_remade(*node, &nodes));
      known = made_again ? again(*node, value) : leaf_for(value);
    }
    return known;
  }

  // A few pointwise ops away from what backward is given: to make it again, beside what reads it, costs less
  // than to write it to memory and back. Small values cost nothing either way.
  bool can_be_remade(const Node& node, int* nodes) const {
    constexpr int64_t kFewestBytes = 256 << 10;
    constexpr int kMostNodes = 6;
    bool plain = node.lifted.empty() && node.def->random_key_offset < 0 && node.def->mutated_params == 0 &&
                 !node.inputs.empty();
    bool large = node.outputs[0]->count() * size_of(node.outputs[0]->dtype) >= kFewestBytes;
    if (!plain || ++*nodes > kMostNodes || !(node.def->view || (large && passes::is_pointwise(*node.def))))
      return false;
    for (const Value& input : node.inputs) {
      if (!input || (!ir::graph_value(input).node && !assigned_.count(input.get()))) continue;
      if (!ir::graph_value(input).node || !can_be_remade(*ir::graph_value(input).node, nodes)) return false;
    }
    return true;
  }

  Value again(const Node& node, const Value& value) {
    ir::Values inputs;
    for (const Value& input : node.inputs) inputs.push_back(input ? in_backward(input) : Value());
    Node& copy = split_.backward->append(*node.def, {inputs.data(), inputs.size()},
                                         {node.starts.begin(), node.starts.size()}, node.attrs.get());
    copy.module = node.module;
    copy.origin = node.origin;
    for (size_t i = 0; i < node.outputs.size(); i++) copy.outputs[i]->layout = node.outputs[i]->layout;
    return copy.outputs[ir::graph_value(value).output];
  }

  Value leaf_for(const Value& value) {
    ir::Graph& backward = *split_.backward;
    ir::GraphRef leaf = ir::make_graph_value(value->dtype, value->sizes);
    leaf->layout = ir::graph_value(value).layout;
    if (auto at = variables_.find(value.get()); at != variables_.end()) {
      backward.variables.push_back({graph_.variables[at->second].name, leaf});
      split_.variables.push_back(at->second);
    } else if (at = constants_.find(value.get()); at != constants_.end()) {
      backward.constants.push_back({graph_.constants[at->second].name, leaf});
      split_.constants.push_back(at->second);
    } else if (at = inputs_.find(value.get()); at != inputs_.end()) {
      bool seed = at->second >= static_cast<int>(first_seed_);
      backward.inputs.push_back({graph_.inputs[at->second].name, leaf});
      split_.inputs.push_back({seed ? BackwardInput::kSeed : BackwardInput::kArgument,
                               seed ? at->second - static_cast<int>(first_seed_) : at->second});
    } else {
      backward.inputs.push_back({cat("saved", graph_.outputs.size()), leaf});
      split_.inputs.push_back({BackwardInput::kSaved, static_cast<int>(graph_.outputs.size())});
      graph_.outputs.push_back(value);
    }
    return leaf;
  }

  ir::Graph& graph_;
  std::unordered_set<const Node*> forward_;
  std::unordered_set<const ir::ValueImpl*> assigned_;  // variables that forward writes
  size_t first_seed_;
  Numbers inputs_, variables_, constants_;
  std::unordered_map<const ir::ValueImpl*, Value> known_;
  Split split_;
};

}  // namespace

Split split_joint(ir::Graph& graph, const std::vector<Value>& gradients, size_t first_seed) {
  return Splitter(graph, first_seed).run(gradients);
}

}  // namespace tw::session
