// Boxes less often what is boxed by the user's word: a boxing of a boxing goes straight there, one to where
// its input lies already goes away, and sums are reduced once instead of reducing what is summed.
//
//   %2 = boxing(%0) : float32[4] @cpu[0, 1] B
//   %3 = boxing(%1) : float32[4] @cpu[0, 1] B
//   %4 = add(%2, %3) : float32[4] @cpu[0, 1] B
//   return %4
// → where %0 and %1 are P(sum), and nobody else reads %2 and %3
//   %2 = add(%0, %1) : float32[4] @cpu[0, 1] P(sum)
//   %3 = boxing(%2) : float32[4] @cpu[0, 1] B
//   return %3
//
// Sums are those of the same numbers in another order. One walk; what nobody reads any more is taken out.
#include <algorithm>

#include "ir/attr_text.h"
#include "ir/layouts.h"
#include "passes/sbp/layouts.h"
#include "passes/simplify/simplify.h"

namespace tw::passes {

namespace {

using ir::Node;
using ir::Value;

Node* boxing_of(const Value& value) {
  Node* node = value ? ir::graph_value(value).node : nullptr;
  return node && ir::is_boxing(*node->def) ? node : nullptr;
}
const sbp::LayoutRef& layout_of(const Value& value) { return ir::graph_value(value).layout; }

// a + b, both of the same sizes.
bool is_plain_sum(const Node& node) {
  if (node.def->name() != std::string_view("add") || !node.lifted.empty()) return false;
  for (const ir::Param& param : node.def->schema.params)
    if (param.kind == ir::ParamKind::kAttr &&
        !ir::same_attr(ir::read_attr(param.field, node.attrs.get()),
                       ir::read_attr(param.field, node.def->defaults())))
      return false;
  return node.inputs[0]->sizes == node.inputs[1]->sizes;
}

class Gatherer {
 public:
  explicit Gatherer(ir::Graph& graph) : graph_(graph), uses_(graph.number()), by_(uses_.size()) {
    auto count = [&](const Value& value) {
      if (value) uses_[ir::graph_value(value).id]++;
    };
    for (auto& node : graph.nodes) std::ranges::for_each(node->inputs, count);
    std::ranges::for_each(graph.outputs, count);
    for (const ir::Assignment& one : graph.assignments) count(one.value);
  }

  void run() {
    std::vector<std::unique_ptr<Node>> old = std::move(graph_.nodes);
    graph_.nodes.clear();
    for (auto& node : old) {
      std::ranges::for_each(node->inputs, [&](Value& input) { update(input); });
      Node& one = *node;
      if (ir::is_boxing(*one.def)) shorten(one);
      graph_.nodes.push_back(std::move(node));
      if (is_sum_of_boxed(one)) sum_first(one);
    }
    std::ranges::for_each(graph_.outputs, [&](Value& output) { update(output); });
    for (ir::Assignment& one : graph_.assignments) update(one.value);
    remove_dead_code(graph_);
  }

 private:
  void update(Value& value) {
    if (value && by_[ir::graph_value(value).id]) value = by_[ir::graph_value(value).id];
  }
  // New boxings have the number of the value that they stand for.
  bool read_once(const Value& value) const { return uses_[ir::graph_value(value).id] == 1; }

  void shorten(Node& node) {
    while (Node* before = boxing_of(node.inputs[0])) {
      if (!read_once(node.inputs[0]) || !layout_of(before->inputs[0])) break;
      node.inputs[0] = before->inputs[0];
    }
    const ir::GraphRef& output = node.outputs[0];
    const sbp::LayoutRef& from = layout_of(node.inputs[0]);
    if (from && output->layout && sbp::same_parts(*from, *output->layout, output->sizes))
      by_[output->id] = node.inputs[0];
  }

  bool is_sum_of_boxed(const Node& node) const {
    if (!is_plain_sum(node)) return false;
    const Node *a = boxing_of(node.inputs[0]), *b = boxing_of(node.inputs[1]);
    if (!a || !b || a == b || !read_once(node.inputs[0]) || !read_once(node.inputs[1])) return false;
    const sbp::LayoutRef &from = layout_of(a->inputs[0]), &to = node.outputs[0]->layout;
    if (!from || !to || from != layout_of(b->inputs[0]) || to->has_partial()) return false;
    if (layout_of(node.inputs[0]) != to || layout_of(node.inputs[1]) != to) return false;
    auto is_sum = [](const sbp::Sbp& s) {
      return s.kind != sbp::Kind::kPartial || s.reduce == sbp::ReduceOp::kSum;
    };
    return from->has_partial() && std::ranges::all_of(from->sbp, is_sum);
  }

  void sum_first(Node& node) {
    ir::PlaceOf place(graph_, node);
    ir::GraphRef sum = node.outputs[0];
    sbp::LayoutRef to = sum->layout;
    for (Value& input : node.inputs) input = boxing_of(input)->inputs[0];
    sum->layout = layout_of(node.inputs[0]);
    static const ir::OpDef& def = ir::registry().get("boxing");
    Value value = sum;
    Node& boxing = graph_.append(def, {&value, 1}, {}, def.defaults());
    boxing.outputs[0]->layout = to;
    boxing.outputs[0]->id = sum->id;
    by_[sum->id] = boxing.outputs[0];
  }

  ir::Graph& graph_;
  std::vector<int> uses_;  // by number
  std::vector<Value> by_;  // what stands for a value; null: itself
};

}  // namespace

void gather_boxings(ir::Graph& graph) { Gatherer(graph).run(); }

}  // namespace tw::passes
