// Computes values of the forward part a second time, late, so that they need not be kept in between.
//
//   %3 = linear(%0, %1, None) : float32[8, 64]
//   %4 = gelu(%3) : float32[8, 64]
//   %5 = sum(%4) : float32[]                       <- the last node that reads the first %4
//   %6 = gelu_backward(%2, %3) : float32[8, 64]
//   %7 = mm(%6, %4) : float32[8, 8]
// →
//   %3 = linear(%0, %1, None) : float32[8, 64]
//   %4 = gelu(%3) : float32[8, 64]
//   %5 = sum(%4) : float32[]
//   %6 = gelu_backward(%2, %3) : float32[8, 64]
//   %7 = after(%3, %6) : float32[8, 64]
//   %8 = gelu(%7) : float32[8, 64]
//   %9 = mm(%6, %8) : float32[8, 8]
//
// A repetition stands right before the first node that reads it. It reads one of its inputs `after` what that
// node waits for anyway, or else after the node before it: so it is no common subexpression, and no order can
// put it early. Views of a repeated value are made again too. Random nodes keep their draw, and so their
// numbers. One walk.
#include "passes/memory/recompute.h"

#include <unordered_map>

namespace tw::passes {

namespace {

using ir::Node;
using ir::Value;

class Repeater {
 public:
  Repeater(ir::Graph& graph, const std::vector<char>& again, size_t last)
      : graph_(graph), again_(again), last_(last) {
    for (size_t i = 0; i < graph.nodes.size(); i++) index_[graph.nodes[i].get()] = i;
  }

  void run() {
    std::vector<std::unique_ptr<Node>> nodes = std::move(graph_.nodes);
    graph_.nodes.clear();
    for (size_t i = 0; i < nodes.size(); i++) {
      reader_ = nodes[i].get();
      if (i > last_ && !is_repeated_view(*reader_))
        for (Value& input : reader_->inputs)
          if (input) input = late(input);
      graph_.nodes.push_back(std::move(nodes[i]));
      if (!graph_.nodes.back()->def->view) latest_ = graph_.nodes.back().get();
    }
  }

 private:
  // Whether the value, or what it is a view of, is made again.
  bool repeated(const Value& value) const {
    const Node* node = ir::graph_value(value).node;
    while (node && node->def->view) node = ir::graph_value(node->inputs[0]).node;
    auto at = node ? index_.find(node) : index_.end();
    return at != index_.end() && again_[at->second];
  }
  // A view that stands behind `last` of what is repeated: those who read it get another one.
  bool is_repeated_view(const Node& node) const { return node.def->view && repeated(node.inputs[0]); }

  Value late(const Value& value) {
    if (!repeated(value)) return value;
    auto known = late_.find(value.get());
    if (known != late_.end()) return known->second;
    const Node& node = *ir::graph_value(value).node;
    ir::Values inputs;
    bool waits = false;
    for (const Value& input : node.inputs) {
      inputs.push_back(input ? late(input) : Value());
      waits |= inputs.back().get() != input.get();
    }
    for (size_t i = 0; i < inputs.size() && !waits; i++)
      if (inputs[i]) inputs[i] = behind(inputs[i]), waits = true;
    Node& copy = graph_.append(*node.def, {inputs.data(), inputs.size()},
                               {node.starts.begin(), node.starts.size()}, node.attrs.get());
    copy.lifted = node.lifted;
    copy.module = node.module;
    copy.origin = node.origin;
    for (size_t i = 0; i < node.outputs.size(); i++) late_[node.outputs[i].get()] = copy.outputs[i];
    return late_.at(value.get());
  }

  // `value` after what the reader waits for.
  Value behind(const Value& value) {
    Value other;
    size_t when = last_;
    for (const Value& input : reader_->inputs) {
      if (!input || !ir::graph_value(input).node || repeated(input)) continue;
      auto at = index_.find(ir::graph_value(input).node);
      if (at != index_.end() && at->second > when) other = input, when = at->second;
    }
    if (!other) other = latest_->outputs[0];
    static const ir::OpDef& after = ir::registry().get("after");
    const Value inputs[] = {value, other};
    return graph_.append(after, inputs, {}, after.defaults()).outputs[0];
  }

  ir::Graph& graph_;
  const std::vector<char>& again_;
  const size_t last_;
  std::unordered_map<const Node*, size_t> index_;
  std::unordered_map<const ir::ValueImpl*, Value> late_;
  Node* reader_ = nullptr;        // whose inputs are looked at
  const Node* latest_ = nullptr;  // that has been passed
};

}  // namespace

void recompute(ir::Graph& graph, const std::vector<char>& again, size_t last) {
  Repeater(graph, again, last).run();
}

}  // namespace tw::passes
