// Computes once, while compiling, what single numbers lead to.
//
//   %1 = full(size=[], fill_value=1.0, dtype=float32) : float32[]     %1 = full(size=[], fill_value=0.25,
//   ...) %2 = full(size=[], fill_value=4, dtype=float32) : float32[]       %2 = mul(%0, %1) : float32[8] %3 =
//   true_divide(%1, %2) : float32[]                         →    return %2 %4 = mul(%0, %3) : float32[8]
//   return %4
//
// Only 0-dim values: gradients of means, scales and counts are full of them, and a number needs no memory.
// The Evaluator runs the kernel that the run would, on the same numbers. Ops that draw random numbers or
// write their inputs stay, and so does what depends on a number that is given anew in every run.
#include "ir/evaluator.h"
#include "passes/simplify/simplify.h"
#include "passes/uniform.h"

namespace tw::passes {

namespace {

using ir::Node;

// The numbers that the inputs are; false where the node is none to fold.
bool known_inputs(const Node& node, const Uniform& uniform, std::vector<Scalar>* numbers) {
  numbers->clear();
  if (node.inputs.empty() || node.outputs.size() != 1 || node.outputs[0]->rank() != 0) return false;
  if (node.def->random_key_offset >= 0 || node.def->mutated_params != 0 || !node.lifted.empty()) return false;
  for (const ir::Value& input : node.inputs) {
    if (!input || input->rank() != 0 || !uniform.of(input)) return false;
    numbers->push_back(*uniform.of(input));
  }
  return true;
}

// A node that makes the value of `node` out of a number, in its place.
std::unique_ptr<Node> full_node(const Node& node, const Scalar& number) {
  const ir::OpDef& def = ir::registry().get("full");
  auto full = std::make_unique<Node>(def, def.defaults());
  const ir::AttrValue values[] = {IntList{}, number, node.outputs[0]->dtype};
  for (size_t i = 0; i < std::size(values); i++)
    ir::write_attr(def.schema.params[i].field, full->attrs.get(), values[i], def.name(),
                   def.schema.params[i].name.c_str());
  full->outputs.push_back(node.outputs[0]);
  full->outputs[0]->node = full.get();
  full->module = node.module;
  full->origin = node.origin;
  return full;
}

}  // namespace

void fold_constants(ir::Graph& graph) {
  ir::Evaluator* evaluator = ir::Evaluator::current();
  if (!evaluator) return;
  Uniform uniform(graph);
  std::vector<Scalar> numbers;
  for (auto& node : graph.nodes) {
    uniform.learn(*node);
    if (!known_inputs(*node, uniform, &numbers)) continue;
    std::optional<Scalar> result = evaluator->evaluate(*node, numbers);
    if (!result) continue;
    uniform.set(*node->outputs[0], *result);
    node = full_node(*node, *result);
  }
}

}  // namespace tw::passes
