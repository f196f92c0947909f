// The parts of a tensor whose gradients are known one by one, q, k and v of attention, are put together at
// once.
//
//   %2 = select_scatter_zeros(%0, input_size=[8, 2, 64], dim=1, index=0) : float32[8, 2, 64]
//   %3 = select_scatter_zeros(%1, input_size=[8, 2, 64], dim=1, index=1) : float32[8, 2, 64]
//   %4 = add(%2, %3) : float32[8, 2, 64]
//   return %4
// →
//   %2 = select_scatter_sum([%0, %1], dim=1) : float32[8, 2, 64]
//   return %2
//
// Only where every index has exactly one part, and nobody else reads what is between.
#include <unordered_map>

#include "ops/fused/select_scatter_sum.h"
#include "passes/fuse/fuse.h"
#include "passes/simplify/simplify.h"

namespace tw::passes {

namespace {

using ir::Node;
using ir::Value;

template <class T>
T attribute(const Node& node, int param) {
  return std::get<T>(ir::read_attr(node.def->schema.params[param].field, node.attrs.get()));
}

class ScatterSums {
 public:
  explicit ScatterSums(ir::Graph& graph) : graph_(graph) {
    for (auto& node : graph.nodes)
      for (const Value& input : node->inputs)
        if (input) uses_[input.get()]++;
    for (const Value& output : graph.outputs) uses_[output.get()]++;
    for (const ir::Assignment& assignment : graph.assignments) uses_[assignment.value.get()]++;
  }

  // From the back, so that the last add of a chain is met first.
  bool run() {
    bool changed = false;
    for (size_t i = graph_.nodes.size(); i-- > 0;) {
      parts_.clear();
      Node& node = *graph_.nodes[i];
      if (!is_sum(node) || !gather(node) || !complete()) continue;
      graph_.nodes[i] = together(node);
      changed = true;
    }
    return changed;
  }

 private:
  static bool is_sum(const Node& node) {
    return node.def->schema.name == "add" && node.inputs.size() == 2 && node.lifted.empty() &&
           attribute<Scalar>(node, 2) == Scalar(1) && kind_of(node.outputs[0]->dtype) >= DTypeKind::kFloat &&
           node.outputs[0]->sizes == node.inputs[0]->sizes && node.outputs[0]->sizes == node.inputs[1]->sizes;
  }

  bool gather(const Node& sum, int deepest = 16) {
    if (deepest == 0) return false;
    for (const Value& input : sum.inputs) {
      const Node* made_by = ir::graph_value(input).node;
      if (!made_by || uses_.at(input.get()) != 1) return false;
      if (made_by->def->schema.name == "select_scatter_zeros")
        parts_.push_back(made_by);
      else if (!is_sum(*made_by) || !gather(*made_by, deepest - 1))
        return false;
    }
    return true;
  }

  static int64_t dim_of(const Node& part) {
    return wrap_dim(attribute<int64_t>(part, 2), part.outputs[0]->rank(), part.def->name());
  }
  static int64_t index_of(const Node& part) {
    int64_t index = attribute<int64_t>(part, 3), size = part.outputs[0]->size(dim_of(part));
    return index < 0 ? index + size : index;
  }

  // Sorts the parts by their index.
  bool complete() {
    int64_t dim = dim_of(*parts_[0]);
    std::vector<const Node*> sorted(static_cast<size_t>(parts_[0]->outputs[0]->size(dim)));
    for (const Node* part : parts_) {
      if (dim_of(*part) != dim) return false;
      const Node*& place = sorted.at(static_cast<size_t>(index_of(*part)));
      if (place) return false;
      place = part;
    }
    bool full = parts_.size() == sorted.size();
    parts_ = std::move(sorted);
    return full;
  }

  std::unique_ptr<Node> together(const Node& sum) {
    static const ir::OpDef& def = ir::registry().get("select_scatter_sum");
    ops::SelectScatterSumAttrs attrs{dim_of(*parts_[0])};
    auto node = std::make_unique<Node>(def, &attrs);
    for (const Node* part : parts_) node->inputs.push_back(part->inputs[0]);
    node->starts.push_back(0);
    node->starts.push_back(static_cast<int>(parts_.size()));
    node->outputs.push_back(sum.outputs[0]);
    node->outputs[0]->node = node.get();
    node->module = sum.module;
    node->origin = sum.origin;
    return node;
  }

  ir::Graph& graph_;
  std::unordered_map<const ir::ValueImpl*, int> uses_;
  std::vector<const Node*> parts_;
};

}  // namespace

void put_scatters_together(ir::Graph& graph) {
  if (ScatterSums(graph).run()) remove_dead_code(graph);
}

}  // namespace tw::passes
