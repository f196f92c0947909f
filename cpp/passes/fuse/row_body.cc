#include "passes/fuse/row_body.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "ir/registry.h"
#include "ops/activation/gelu.h"
#include "ops/pointwise/arithmetic.h"

namespace tw::passes {

namespace {

using ir::Node;
using ir::Value;

// Attributes that name dims, for the folded shape.
void fold_attributes(const Node& node, ir::AttrBox* attrs) {
  for (const ir::Param& param : node.def->schema.params) {
    if (param.kind != ir::ParamKind::kAttr) continue;
    auto write = [&](ir::AttrValue value) {
      ir::write_attr(param.field, attrs->get(), value, node.def->name(), param.name.c_str());
    };
    bool sum = node.def->schema.name == "sum";
    if (param.name == "dim") write(sum ? ir::AttrValue(IntList{0}) : ir::AttrValue(int64_t{-1}));
    if (param.name == "keepdim" && sum) write(false);
  }
}

class Builder {
 public:
  explicit Builder(const RowGroup& group) : group_(group) {
    body_.graph = std::make_unique<ir::Graph>();
    body_.graph->name = "rows";
  }

  RowBody run(FunctionRef<bool(const ir::ValueImpl*)> leaves) {
    find_slopes();
    find_products(leaves);
    for (const Node* node : group_.nodes) add(*node);
    ir::Graph& graph = *body_.graph;
    // Values that have rows come first: where results lie is told by the first.
    for (bool sums : {false, true})
      for (size_t n = 0; n < group_.nodes.size(); n++)
        for (const ir::GraphRef& output : group_.nodes[n]->outputs) {
          if (!leaves(output.get()) || is_row_sum(*group_.nodes[n], output->output) != sums) continue;
          body_.outputs.push_back(output);
          graph.outputs.push_back(inside_.at(output.get()));
          body_.over.push_back(sums ? -1 : may_take(n, *output));
        }
    return std::move(body_);
  }

 private:
  const Value& source(const Value& given) const { return group_.space.folded ? row_source(given) : given; }

  // gelu whose gradient is taken at the same place, later in the group: most of the work is done once for
  // both. Not for half precision, where a stored slope is not what gelu_backward multiplies by, nor for
  // doubles, where the compiler rounds otherwise in the joint kernel.
  void find_slopes() {
    std::unordered_map<const ir::ValueImpl*, const Node*> gelus;
    for (const Node* node : group_.nodes) {
      const std::string& name = node->def->schema.name;
      if (name != "gelu" && name != "gelu_backward") continue;
      const Value& at = source(node->inputs.back());
      bool exact = static_cast<const ops::GeluAttrs*>(node->attrs.get())->approximate == "none";
      if (!exact || at->dtype != DType::kFloat32) continue;
      if (name == "gelu")
        gelus.emplace(at.get(), node);
      else if (auto gelu = gelus.find(at.get()); gelu != gelus.end())
        partner_[node] = gelu->second, with_slope_.insert(gelu->second);
    }
  }

  // A product that only the next node reads, which adds to it: one pass over the rows for both.
  void find_products(FunctionRef<bool(const ir::ValueImpl*)> leaves) {
    std::unordered_map<const ir::ValueImpl*, int> reads;
    for (const Node* node : group_.nodes)
      for (const Value& input : node->inputs)
        if (input) reads[source(input).get()]++;
    for (size_t i = 1; i < group_.nodes.size(); i++) {
      const Node &mul = *group_.nodes[i - 1], &add = *group_.nodes[i];
      if (mul.def->schema.name != "mul" || add.def->schema.name != "add" || !is_plain_sum(add)) continue;
      const ir::ValueImpl* product = mul.outputs[0].get();
      bool read = source(add.inputs[0]).get() == product || source(add.inputs[1]).get() == product;
      if (read && reads[product] == 1 && !leaves(product)) products_[&mul] = &add;
    }
  }
  // In half precision the product would not be rounded to it.
  static bool is_plain_sum(const Node& add) {
    DType dtype = add.outputs[0]->dtype;
    return static_cast<const ops::AlphaAttrs*>(add.attrs.get())->alpha == Scalar(1) && add.lifted.empty() &&
           (dtype == DType::kFloat32 || dtype == DType::kFloat64);
  }

  bool add_with_product(const Node& node) {
    if (products_.count(&node)) return true;  // the next one writes it
    auto pair = std::find_if(products_.begin(), products_.end(),
                             [&](const auto& one) { return one.second == &node; });
    if (pair == products_.end()) return false;
    static const ir::OpDef& def = ir::registry().get("mul_add");
    const Node& mul = *pair->first;
    bool first = source(node.inputs[0]).get() == mul.outputs[0].get();
    Value operands[] = {inside(mul.inputs[0]), inside(mul.inputs[1]), inside(node.inputs[first ? 1 : 0])};
    inside_[node.outputs[0].get()] = body_.graph->append(def, operands, {}, nullptr).outputs[0];
    return true;
  }

  // Whether it was one of a pair, and is written.
  bool add_with_slope(const Node& node) {
    if (auto gelu = partner_.find(&node); gelu != partner_.end()) {
      static const ir::OpDef& mul = ir::registry().get("mul");
      Value operands[] = {inside(node.inputs[0]), slopes_.at(gelu->second)};
      inside_[node.outputs[0].get()] = body_.graph->append(mul, operands, {}, nullptr).outputs[0];
      return true;
    }
    if (!with_slope_.count(&node)) return false;
    static const ir::OpDef& pair = ir::registry().get("gelu_with_slope");
    Value operands[] = {inside(node.inputs[0])};
    Node& both = body_.graph->append(pair, operands, {}, nullptr);
    inside_[node.outputs[0].get()] = both.outputs[0];
    slopes_[&node] = both.outputs[1];
    return true;
  }

  Value inside(const Value& given) {
    if (!given) return {};
    const Value& value = source(given);
    Value& known = inside_[value.get()];
    if (!known) {
      Dims shape;
      group_.space.shape_of(value->sizes, &shape);
      ir::GraphRef leaf = ir::make_graph_value(value->dtype, shape);
      body_.graph->inputs.push_back({cat("x", body_.inputs.size()), leaf});
      body_.inputs.push_back(value);
      known = leaf;
    }
    return known;
  }

  void add(const Node& node) {
    if (add_with_slope(node) || add_with_product(node)) return;
    ir::Values inputs;
    for (const Value& input : node.inputs) inputs.push_back(inside(input));
    ir::AttrBox attrs(node.def->attr_type, node.attrs.get());
    if (group_.space.folded && row_role(node) != RowRole::kPointwise) fold_attributes(node, &attrs);
    Node& copy = body_.graph->append(*node.def, {inputs.data(), inputs.size()}, {}, attrs.get());
    for (size_t i = 0; i < node.outputs.size(); i++) inside_[node.outputs[i].get()] = copy.outputs[i];
  }

  // An input that nobody reads once node `n` has written its output: over one that it reads itself only
  // element by element.
  int64_t may_take(size_t n, const ir::ValueImpl& output) {
    bool pointwise = row_role(*group_.nodes[n]) == RowRole::kPointwise;
    for (size_t i = 0; i < body_.inputs.size(); i++) {
      const Value& input = body_.inputs[i];
      if (input->dtype != output.dtype || input->sizes != output.sizes || taken(static_cast<int64_t>(i)))
        continue;
      bool read_later = false;
      for (size_t later = n; later < group_.nodes.size(); later++)
        for (const Value& read : group_.nodes[later]->inputs)
          read_later |= read && source(read) == input && (later > n || !pointwise);
      if (!read_later) return static_cast<int64_t>(i);
    }
    return -1;
  }
  bool taken(int64_t input) const {
    for (int64_t other : body_.over)
      if (other == input) return true;
    return false;
  }

  const RowGroup& group_;
  RowBody body_;
  std::unordered_map<const ir::ValueImpl*, Value> inside_;
  std::unordered_map<const Node*, const Node*> partner_;  // of gelu_backward
  std::unordered_set<const Node*> with_slope_;
  std::unordered_map<const Node*, Value> slopes_;
  std::unordered_map<const Node*, const Node*> products_;  // a mul, and the add that follows it
};

}  // namespace

bool is_row_sum(const Node& node, int output) {
  return node.def->schema.name == "sum" || (node.def->schema.name == "layer_norm_backward" && output > 0);
}

RowBody make_row_body(const RowGroup& group, FunctionRef<bool(const ir::ValueImpl*)> leaves) {
  return Builder(group).run(leaves);
}

}  // namespace tw::passes
