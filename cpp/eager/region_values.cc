#include "eager/region_values.h"

#include "ir/layouts.h"

namespace tw::eager {

using ir::Graph;
using ir::Node;
using ir::Value;

size_t Captures::number_of(const Value& value) {
  auto [at, fresh] = numbers_.try_emplace(value.get(), values.size());
  if (fresh) values.push_back(value);
  return at->second;
}

Value append_zeros(Graph& graph, DType dtype, const Dims& sizes) {
  static const ir::OpDef& full = ir::registry().get("full");
  ir::AttrBox attrs(full.attr_type, full.defaults());
  const auto& params = full.schema.params;
  ir::write_attr(params[0].field, attrs.get(), sizes, "full", "size");
  ir::write_attr(params[1].field, attrs.get(), Scalar(0), "full", "fill_value");
  ir::write_attr(params[2].field, attrs.get(), dtype, "full", "dtype");
  return graph.append(full, {}, {}, attrs.get()).outputs[0];
}

ForwardRegion::ForwardRegion(Node& node, size_t region)
    : node_(node), region_(region), loop_(ir::control_kind(*node.def) == ir::ControlKind::kLoop) {
  const Graph& graph = *node.regions[region];
  for (const auto& one : graph.nodes) nodes_.insert(one.get());
  for (size_t i = 0; i < graph.inputs.size(); i++) inputs_[graph.inputs[i].value.get()] = i;
}

bool ForwardRegion::holds(const Value& value) const {
  const Node* maker = ir::graph_value(value).node;
  return is_input(value) || (maker && nodes_.count(maker));
}

Value ForwardRegion::operand_of(const Value& input) const {
  size_t number = inputs_.at(input.get());
  if (!loop_) return node_.inputs[number + 1];
  ir::LoopShape shape = ir::loop_shape(node_);
  size_t captured = static_cast<size_t>(shape.carried + shape.slices);
  return number < captured ? Value() : node_.inputs[number + 2];
}

Value ForwardRegion::whole_of(const Value& input) const {
  if (!loop_) return {};
  size_t number = inputs_.at(input.get());
  ir::LoopShape shape = ir::loop_shape(node_);
  auto carried = static_cast<size_t>(shape.carried), slices = static_cast<size_t>(shape.slices);
  return number >= carried && number < carried + slices ? node_.inputs[number + 2] : Value();
}

bool ForwardRegion::is_invariant(const Value& value) {
  if (is_input(value)) return static_cast<bool>(operand_of(value));
  auto [known, fresh] = invariant_.try_emplace(value.get(), false);
  if (!fresh) return known->second;
  const Node& maker = *ir::graph_value(value).node;
  bool result = maker.regions.empty() && ir::draw_of(maker) < 0 && maker.lifted.empty();
  for (const Value& input : maker.inputs) result = result && (!input || is_invariant(input));
  return invariant_[value.get()] = result;
}

bool ForwardRegion::is_cheap(const Value& value) {
  const Node& maker = *ir::graph_value(value).node;
  if (maker.def->view && !ir::is_boxing(*maker.def)) return true;
  if (!maker.lifted.empty() || ir::draw_of(maker) >= 0 || !maker.regions.empty()) return false;
  bool literal = maker.inputs.empty() && maker.outputs.size() == 1;
  return literal || (loop_ && is_invariant(value));
}

Value ForwardRegion::kept(const Value& value) {
  Graph& graph = *node_.regions[region_];
  size_t skipped = loop_ && node_.inputs[0] ? 1 : 0;  // whether the loop goes on
  size_t first = loop_ ? skipped + static_cast<size_t>(ir::loop_shape(node_).carried) : 0;
  for (size_t i = first; i < graph.outputs.size(); i++)
    if (graph.outputs[i] == value) return node_.outputs[i - skipped];
  Dims sizes = value->sizes;
  if (loop_) {
    int64_t length = ir::loop_shape(node_).length;
    TW_CHECK(length >= 0, kRuntime,
             "while_loop: its backward needs max_iterations (of a `while`, with tw.jit.max_iterations(n)): "
             "what each iteration leaves for it is kept in memory "
             "that is planned before the first");
    sizes.insert(sizes.begin(), length);
  } else {
    node_.regions[1 - region_]->outputs.push_back(
        append_zeros(*node_.regions[1 - region_], value->dtype, value->sizes));
  }
  graph.outputs.push_back(value);
  ir::GraphRef output = ir::make_graph_value(value->dtype, sizes);
  output->node = &node_;
  output->output = static_cast<int>(node_.outputs.size());
  node_.outputs.push_back(output);
  return output;
}

RegionCloser::RegionCloser(Graph& graph, Captures& captures, std::span<ForwardRegion> forward)
    : graph_(graph), captures_(captures), forward_(forward) {
  for (const ir::Leaf& leaf : graph.inputs) own_.insert(leaf.value.get());
  for (const auto& node : graph.nodes)
    for (const ir::GraphRef& output : node->outputs) own_.insert(output.get());
}

void RegionCloser::close() {
  std::vector<std::unique_ptr<Node>> nodes = std::move(graph_.nodes);
  graph_.nodes.clear();
  for (auto& node : nodes) {
    for (Value& input : node->inputs)
      if (input) input = inside(input);
    graph_.nodes.push_back(std::move(node));
  }
  for (Value& output : graph_.outputs) output = inside(output);
  for (const ir::GraphRef& input : slice_inputs_) graph_.inputs.push_back({"", input});
}

void RegionCloser::add_captures() {
  capture_inputs_.resize(captures_.values.size());
  for (size_t i = 0; i < capture_inputs_.size(); i++) {
    const Value& value = captures_.values[i];
    if (!capture_inputs_[i]) capture_inputs_[i] = ir::make_graph_value(value->dtype, value->sizes);
    graph_.inputs.push_back({"", capture_inputs_[i]});
  }
}

Value RegionCloser::inside(const Value& value) {
  if (own_.count(value.get())) return value;
  auto known = known_.find(value.get());
  if (known != known_.end()) return known->second;
  Value made = make(value);
  return known_[value.get()] = made;
}

Value RegionCloser::make(const Value& value) {
  for (ForwardRegion& forward : forward_)
    if (forward.holds(value)) return made_in(forward, value);
  return capture(value);
}

Value RegionCloser::made_in(ForwardRegion& forward, const Value& value) {
  if (forward.is_input(value)) {
    if (Value operand = forward.operand_of(value)) return inside(operand);
    if (Value whole = forward.whole_of(value)) return slice(whole);
  } else if (forward.is_cheap(value)) {
    return again(value);
  }
  Value kept = forward.kept(value);
  return kept->sizes == value->sizes ? inside(kept) : slice(kept);
}

Value RegionCloser::again(const Value& value) {
  const Node& node = *ir::graph_value(value).node;
  ir::Values inputs;
  for (const Value& input : node.inputs) inputs.push_back(input ? inside(input) : Value());
  Node& copy = graph_.append(*node.def, {inputs.data(), inputs.size()},
                             {node.starts.begin(), node.starts.size()}, node.attrs.get());
  for (size_t i = 0; i < node.outputs.size(); i++) copy.outputs[i]->layout = node.outputs[i]->layout;
  copy.module = node.module;
  copy.origin = node.origin;
  return copy.outputs[ir::graph_value(value).output];
}

Value RegionCloser::capture(const Value& value) {
  size_t number = captures_.number_of(value);
  if (capture_inputs_.size() <= number) capture_inputs_.resize(number + 1);
  if (!capture_inputs_[number]) capture_inputs_[number] = ir::make_graph_value(value->dtype, value->sizes);
  return capture_inputs_[number];
}

Value RegionCloser::slice(const Value& whole) {
  Dims sizes(whole->sizes.begin() + 1, whole->sizes.end());
  slices_.push_back(whole);
  slice_inputs_.push_back(ir::make_graph_value(whole->dtype, sizes));
  return slice_inputs_.back();
}

}  // namespace tw::eager
