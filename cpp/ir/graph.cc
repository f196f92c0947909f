#include "ir/graph.h"

#include "base/philox.h"
#include "ir/control.h"

namespace tw::ir {

namespace {

PhiloxKey* key_of(Node& node) {
  int offset = node.def->random_key_offset;
  return offset < 0 ? nullptr : reinterpret_cast<PhiloxKey*>(static_cast<char*>(node.attrs.get()) + offset);
}

}  // namespace

Node::Node(const OpDef& op, const void* attributes) : def(&op), attrs(op.attr_type, attributes) {}
Node::~Node() = default;

GraphRef make_graph_value(DType dtype, const Dims& sizes) {
  auto value = make_ref<GraphValue>();
  value->dtype = dtype;
  value->sizes = sizes;
  return value;
}

int StringTable::intern(const std::string& text) {
  if (text.empty()) return 0;
  auto [at, fresh] = numbers_.try_emplace(text, static_cast<int>(texts_.size()));
  if (fresh) texts_.push_back(text);
  return at->second;
}

Node& Graph::append(const OpDef& def, std::span<const Value> inputs, std::span<const int> starts,
                    const void* attrs) {
  return append(def, inputs, starts, attrs, {});
}

Node& Graph::append(const OpDef& def, std::span<const Value> inputs, std::span<const int> starts,
                    const void* attrs, std::vector<std::unique_ptr<Graph>> regions) {
  auto node = std::make_unique<Node>(def, attrs);
  node->module = place.module;
  node->origin = place.origin;
  node->inputs.append(inputs.begin(), inputs.end());
  node->starts.append(starts.begin(), starts.end());
  node->regions = std::move(regions);
  return add(std::move(node));
}

Node& Graph::add(std::unique_ptr<Node> node) {
  for (const Meta& meta : infer_outputs(*node)) {
    GraphRef value = make_graph_value(meta.dtype, meta.sizes);
    value->node = node.get();
    value->output = static_cast<int>(node->outputs.size());
    node->outputs.push_back(std::move(value));
  }
  nodes.push_back(std::move(node));
  return *nodes.back();
}

int Graph::number() {
  int next = 0;
  for (auto* leaves : {&inputs, &variables, &constants})
    for (Leaf& leaf : *leaves) leaf.value->id = next++;
  for (auto& node : nodes)
    for (GraphRef& value : node->outputs) value->id = next++;
  return next;
}

std::vector<int> mutated_inputs(const Node& node) {
  std::vector<int> result;
  const OpDef& def = *node.def;
  for (int param = 0; param < def.schema.tensor_count; param++) {
    if (!(def.mutated_params >> param & 1)) continue;
    int first = node.starts.empty() ? param : node.starts[param];
    int last = node.starts.empty() ? param + 1 : node.starts[param + 1];
    for (int i = first; i < last; i++)
      if (node.inputs[i]) result.push_back(i);
  }
  return result;
}

void check_sizes(DType dtype, const Dims& sizes) {
  int64_t bytes = 0;
  TW_CHECK(!__builtin_mul_overflow(numel(sizes), int64_t{size_of(dtype)}, &bytes), kValue,
           "the number of bytes overflows 64 bits: sizes ", sizes);
}

SmallVector<Meta, 2> infer_outputs(const Node& node) {
  static_assert(sizeof(Value) == sizeof(const ValueImpl*));
  if (is_control(*node.def)) return infer_control(node);
  InferContext context;
  context.op = node.def->name();
  context.inputs = {reinterpret_cast<const ValueImpl* const*>(node.inputs.data()), node.inputs.size()};
  context.input_starts = {node.starts.begin(), node.starts.size()};
  context.attributes = node.attrs.get();
  node.def->infer(context);
  SmallVector<Meta, 2> outputs = std::move(context.outputs);
  for (const Meta& meta : outputs) check_sizes(meta.dtype, meta.sizes);
  for (int i : mutated_inputs(node)) outputs.push_back({node.inputs[i]->dtype, node.inputs[i]->sizes});
  return outputs;
}

int64_t draw_of(const Node& node) {
  if (is_control(*node.def)) return node.region_draw;
  PhiloxKey* key = key_of(const_cast<Node&>(node));
  return key ? static_cast<int64_t>(key->draw) : -1;
}

void set_draw(Node& node, int64_t draw) {
  if (is_control(*node.def)) {
    node.region_draw = draw;
    return;
  }
  PhiloxKey* key = key_of(node);
  TW_CHECK(key, kInternal, node.def->name(), ": not a random op");
  key->draw = static_cast<uint64_t>(draw);
}

void GraphEmitter::apply(const OpDef& def, std::span<const Value> inputs, std::span<const int> starts,
                         void* attrs, Values* outputs) {
  if (!def.infer) {
    *outputs = def.expand(Values(inputs.begin(), inputs.end()), attrs);
    return;
  }
  Node& node = graph_.append(def, inputs, starts, attrs);
  outputs->append(node.outputs.begin(), node.outputs.end());
}

Value GraphEmitter::number(const Scalar& value) {
  return op<"full">(IntList{}, value, default_dtype(value.kind()));
}

}  // namespace tw::ir
