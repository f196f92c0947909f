// Puts what follows a convolution into it: a batch norm of running statistics, a sum with a residual, a relu.
//
//   %5 = convolution(%0, %1, None, stride=[1, 1], ...) : float32[8, 64, 32, 32]
//   %6 = addcmul(%2, %5, %3) : float32[8, 64, 32, 32]
//   %7 = add(%6, %4) : float32[8, 64, 32, 32]
//   %8 = relu(%7) : float32[8, 64, 32, 32]
//   return %8
// →
//   %5 = convolution_then(%0, %1, None, %2, %3, %4, stride=[1, 1], ..., relu=True) : float32[8, 64, 32, 32]
//   return %5
//
// The kernel does it to each piece of the result while that is in the cache, with the same roundings, so that
// no bit changes; statistics and weights may change between runs. Of the three each may be missing, but they
// come in this order, and nobody else reads what is between. Training is left alone: there the norm waits for
// the whole result.
#include <unordered_map>

#include "ops/conv/convolution.h"
#include "passes/fuse/fuse.h"
#include "passes/simplify/simplify.h"

namespace tw::passes {

namespace {

using ir::Node;
using ir::Value;

Scalar number(const Node& node, int param) {
  return std::get<Scalar>(ir::read_attr(node.def->schema.params[param].field, node.attrs.get()));
}

class Epilogues {
 public:
  explicit Epilogues(ir::Graph& graph) : graph_(graph) {
    for (auto& node : graph.nodes)
      for (const Value& input : node->inputs)
        if (input) use(input, node.get());
    for (const Value& output : graph.outputs) use(output, nullptr);
    for (const ir::Assignment& assignment : graph.assignments) use(assignment.value, nullptr);
  }

  bool run() {
    bool changed = false;
    for (size_t i = 0; i < graph_.nodes.size(); i++)
      if (takes(*graph_.nodes[i])) changed = grow(*graph_.nodes[i]) || changed;
    for (auto& node : graph_.nodes) {
      auto made = made_.find(node.get());
      if (made != made_.end()) node = std::move(made->second);
    }
    return changed;
  }

 private:
  struct Uses {
    int count = 0;
    Node* last = nullptr;  // null: an output or assignment
  };
  struct Then {
    Value shift, scale, residual;
    bool relu = false;
  };

  void use(const Value& value, Node* by) {
    Uses& uses = uses_[value.get()];
    uses.count++;
    uses.last = by;
  }

  static bool takes(const Node& node) {
    if (node.def->schema.name != "convolution" || !node.lifted.empty()) return false;
    const auto& a = *static_cast<const ops::ConvolutionAttrs*>(node.attrs.get());
    return !a.transposed && node.outputs[0]->dtype == DType::kFloat32 && node.outputs[0]->count() > 0 &&
           node.inputs[0]->count() > 0;
  }

  // The only reader of a value, if it is an op of this name that keeps the type.
  Node* reader(const ir::GraphRef& value, const char* op) const {
    auto uses = uses_.find(value.get());
    if (uses == uses_.end() || uses->second.count != 1 || !uses->second.last) return nullptr;
    Node* node = uses->second.last;
    bool same = node->def->schema.name == op && node->lifted.empty() &&
                node->outputs[0]->dtype == value->dtype && node->outputs[0]->sizes == value->sizes;
    return same ? node : nullptr;
  }

  // One number for each channel of `like`.
  static bool of_channels(const Value& value, const ir::GraphRef& like) {
    const Dims &sizes = value->sizes, &whole = like->sizes;
    int64_t at = static_cast<int64_t>(sizes.size()) - static_cast<int64_t>(whole.size()) + 1;
    return value->dtype == like->dtype && at >= 0 && at < static_cast<int64_t>(sizes.size()) &&
           sizes[static_cast<size_t>(at)] == whole[1] && numel(sizes) == whole[1];
  }

  bool grow(Node& convolution) {
    Then then;
    Node* last = &convolution;
    if (Node* norm = reader(last->outputs[0], "addcmul"); norm && number(*norm, 3) == Scalar(1)) {
      const ir::ValueImpl* result = last->outputs[0].get();
      const Value& factor = norm->inputs[norm->inputs[1].get() == result ? 2 : 1];
      if (norm->inputs[0].get() != result && of_channels(norm->inputs[0], last->outputs[0]) &&
          of_channels(factor, last->outputs[0])) {
        then.shift = norm->inputs[0];
        then.scale = factor;
        last = norm;
      }
    }
    if (Node* sum = reader(last->outputs[0], "add"); sum && number(*sum, 2) == Scalar(1)) {
      const Value& other = sum->inputs[sum->inputs[0].get() == last->outputs[0].get() ? 1 : 0];
      if (other->dtype == sum->outputs[0]->dtype && other->sizes == sum->outputs[0]->sizes) {
        then.residual = other;
        last = sum;
      }
    }
    if (Node* relu = reader(last->outputs[0], "relu")) {
      then.relu = true;
      last = relu;
    }
    if (last == &convolution) return false;
    made_[last] = together(convolution, then, *last);
    return true;
  }

  static std::unique_ptr<Node> together(const Node& convolution, const Then& then, const Node& last) {
    static const ir::OpDef& def = ir::registry().get("convolution_then");
    const auto& a = *static_cast<const ops::ConvolutionAttrs*>(convolution.attrs.get());
    ops::ConvolutionThenAttrs attrs{a.stride, a.padding, a.dilation, a.groups, then.relu};
    auto node = std::make_unique<Node>(def, &attrs);
    node->inputs = convolution.inputs;
    for (const Value& value : {then.shift, then.scale, then.residual}) node->inputs.push_back(value);
    node->outputs.push_back(last.outputs[0]);
    node->outputs[0]->node = node.get();
    node->module = convolution.module;
    node->origin = convolution.origin;
    return node;
  }

  ir::Graph& graph_;
  std::unordered_map<const ir::ValueImpl*, Uses> uses_;
  std::unordered_map<const Node*, std::unique_ptr<Node>> made_;  // by the last node that each stands for
};

}  // namespace

void put_epilogues_into_convolutions(ir::Graph& graph) {
  if (Epilogues(graph).run()) remove_dead_code(graph);
}

}  // namespace tw::passes
