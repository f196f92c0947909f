#include "passes/fuse/row_body.h"

#include <unordered_map>

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
  Value inside(const Value& given) {
    if (!given) return {};
    const Value& value = group_.space.folded ? row_source(given) : given;
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
          read_later |=
              read && (group_.space.folded ? row_source(read) : read) == input && (later > n || !pointwise);
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
};

}  // namespace

bool is_row_sum(const Node& node, int output) {
  return node.def->schema.name == "sum" || (node.def->schema.name == "layer_norm_backward" && output > 0);
}

RowBody make_row_body(const RowGroup& group, FunctionRef<bool(const ir::ValueImpl*)> leaves) {
  return Builder(group).run(leaves);
}

}  // namespace tw::passes
