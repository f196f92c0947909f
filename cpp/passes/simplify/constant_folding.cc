// Computes once, while compiling, what known numbers lead to.
//
//   %1 = full(size=[], fill_value=1.0, dtype=float32) : float32[]
//   %2 = full(size=[], fill_value=4, dtype=float32) : float32[]
//   %3 = true_divide(%1, %2) : float32[]
//   %4 = mul(%0, %3) : float32[8]
//   return %4
// → (and dead code)
//   %1 = full(size=[], fill_value=0.25, dtype=float32) : float32[]
//   %2 = mul(%0, %1) : float32[8]
//   return %2
//
// Only values whose elements all equal one number, known here: gradients of means, scales and counts are full
// of them. What any op makes of 0-dim ones, and element-wise ops of all, is such a number again; a result
// that is not 0-dim becomes an expanded number, which takes no memory. The Evaluator runs the kernel that the
// run would. Ops that draw random numbers or write their inputs stay, and so does what depends on a number
// that is given anew in every run; so does what gives NaN, whose sign a number does not keep.
#include <cmath>

#include "ir/evaluator.h"
#include "ir/layouts.h"
#include "passes/pointwise.h"
#include "passes/simplify/simplify.h"
#include "passes/uniform.h"

namespace tw::passes {

namespace {

using ir::Node;

// The numbers that the inputs are; false where the node is none to fold.
bool known_inputs(const Node& node, const Uniform& uniform, std::vector<Scalar>* numbers) {
  numbers->clear();
  const ir::OpDef& def = *node.def;
  if (node.inputs.empty() || node.outputs.size() != 1 || !node.lifted.empty()) return false;
  if (def.random_key_offset >= 0 || def.mutated_params != 0 || def.view || !node.regions.empty())
    return false;
  if (ir::is_boxing_part(def)) return false;  // others give to it, too
  bool single = node.outputs[0]->rank() == 0;
  for (const ir::Value& input : node.inputs) {
    if (!input || !uniform.of(input)) return false;
    single &= input->rank() == 0;
    numbers->push_back(*uniform.of(input));
  }
  return single || is_pointwise(def);
}

bool has_nan(const Scalar& number) {
  complex128 value = number.to_complex();
  return std::isnan(value.real()) || std::isnan(value.imag());
}

// A node at the place of another: op(inputs, attributes) that makes `output`.
std::unique_ptr<Node> node_like(const Node& at, const char* op, std::span<const ir::AttrValue> attributes,
                                const ir::GraphRef& output) {
  const ir::OpDef& def = ir::registry().get(op);
  auto node = std::make_unique<Node>(def, def.defaults());
  size_t next = 0;
  for (const ir::Param& param : def.schema.params)
    if (param.kind == ir::ParamKind::kAttr)
      ir::write_attr(param.field, node->attrs.get(), attributes[next++], op, param.name.c_str());
  node->outputs.push_back(output);
  output->node = node.get();
  node->module = at.module;
  node->origin = at.origin;
  return node;
}

// Appends nodes that make the output of `node` out of a number.
void append_number(const Node& node, const Scalar& number, std::vector<std::unique_ptr<Node>>* nodes) {
  const ir::GraphRef& output = node.outputs[0];
  bool single = output->rank() == 0;
  ir::GraphRef value = single ? output : ir::make_graph_value(output->dtype, {});
  const ir::AttrValue full[] = {IntList{}, number, output->dtype};
  nodes->push_back(node_like(node, "full", full, value));
  if (single) return;
  const ir::AttrValue expand[] = {output->sizes};
  nodes->push_back(node_like(node, "expand", expand, output));
  nodes->back()->inputs.push_back(value);
}

}  // namespace

void fold_constants(ir::Graph& graph) {
  ir::Evaluator* evaluator = ir::Evaluator::current();
  if (!evaluator) return;
  Uniform uniform(graph);
  std::vector<Scalar> numbers;
  std::vector<std::unique_ptr<Node>> nodes;
  for (auto& node : graph.nodes) {
    uniform.learn(*node);
    std::optional<Scalar> result;
    if (known_inputs(*node, uniform, &numbers)) result = evaluator->evaluate(*node, numbers);
    if (!result || has_nan(*result)) {
      nodes.push_back(std::move(node));
      continue;
    }
    uniform.set(*node->outputs[0], *result);
    append_number(*node, *result, &nodes);
  }
  graph.nodes = std::move(nodes);
}

}  // namespace tw::passes
