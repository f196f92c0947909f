#include "ir/verify.h"

#include "ir/graph_texts.h"
#include "test.h"

using namespace tw;
using namespace tw::ir;
using tw::test::parsed;

namespace {

// A graph with a node of each kind that the verifier looks at; `change` breaks it.
template <class Change>
void check_broken(std::string_view message, const Change& change) {
  auto graph = parsed(R"(graph "g" {
  input %0 "x" : float32[2, 3]
  variable %1 "v" : float32[2, 3]
  variable %2 "w" : float32[2, 3]
  number $0 "lr"
  %3 = add(%0, %1) : float32[2, 3]
  %4, %5 = dropout_of(%3) draw 0 : float32[2, 3], bool[2, 3]
  %6 = cat([%3, %4]) : float32[4, 3]
  %7, %8 = lion_step([%1], [%4], [%2], lr=$0, beta1=0.9, beta2=0.9, weight_decay=0.0, maximize=False) : float32[2, 3], float32[2, 3]
  %9 = linear(%3, %3, None) : float32[2, 2]
  %10, %11 = dropout_of(%4) draw 1 : float32[2, 3], bool[2, 3]
  %12 = transpose(%3, dim0=0, dim1=1) : float32[3, 2]
  assign %1 = %7
  return %6
  draws 2
}
)");
  verify(*graph);
  change(*graph);
  try {
    verify(*graph);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kInternal);
  }
  CHECK_THROWS(Error, verify(*graph), message);
}

}  // namespace

TEST(the_error_shows_the_node) {
  check_broken(
      "input 0 (input) is no value of the graph made before the node\n  %3 = add(%9, %1) : float32[2, 3]",
      [](Graph& g) { g.nodes[0]->inputs[0] = g.nodes[4]->outputs[0]; });
}

TEST(values_are_defined_before_use) {
  check_broken("made before the node\n  %3 = linear(%9", [](Graph& g) { std::swap(g.nodes[0], g.nodes[4]); });
  check_broken("input 1 (other) is no value of the graph",
               [](Graph& g) { g.nodes[0]->inputs[1] = make_graph_value(DType::kFloat32, {2, 3}); });
  check_broken("output 0 is no value of the graph",
               [](Graph& g) { g.outputs[0] = make_graph_value(DType::kFloat32, {2, 3}); });
  check_broken("output 0 is no value of the graph", [](Graph& g) { g.outputs[0] = Value(); });
  check_broken("what variable \"v\" is assigned is no value",
               [](Graph& g) { g.assignments[0].value = make_graph_value(DType::kFloat32, {2, 3}); });
}

TEST(leaves_are_values_without_a_node_each_once) {
  check_broken("input \"x\" has no value", [](Graph& g) { g.inputs[0].value = GraphRef(); });
  check_broken("input \"x\" is made by a node", [](Graph& g) { g.inputs[0].value = g.nodes[0]->outputs[0]; });
  check_broken("variable \"w\" is there a second time",
               [](Graph& g) { g.variables[1].value = g.variables[0].value; });
  check_broken("input \"x\": sizes must not be negative",
               [](Graph& g) { g.inputs[0].value->sizes = {2, -3}; });
  check_broken("input \"x\": the number of bytes overflows",
               [](Graph& g) { g.inputs[0].value->sizes = {int64_t{1} << 61, 3}; });
}

TEST(inputs_follow_the_schema) {
  check_broken("input 1 (other) is missing", [](Graph& g) { g.nodes[0]->inputs[1] = Value(); });
  check_broken("2 inputs are wanted, got 1", [](Graph& g) { g.nodes[0]->inputs.pop_back(); });
  check_broken("an op without lists has starts", [](Graph& g) { g.nodes[0]->starts = {0, 1, 2}; });
  check_broken("2 starts are wanted, got [0]", [](Graph& g) { g.nodes[2]->starts = {0}; });
  check_broken("from 0 to the number of inputs, 2, got [0, 3]",
               [](Graph& g) { g.nodes[2]->starts = {0, 3}; });
  check_broken("the starts give grads -1 inputs", [](Graph& g) { g.nodes[3]->starts = {0, 2, 1, 3}; });
  check_broken("input 0 (tensors) is missing", [](Graph& g) { g.nodes[2]->inputs[0] = Value(); });
  check_broken("the inputs of add must agree in dtype, got float32 and int64", [](Graph& g) {
    g.inputs.push_back({"n", make_graph_value(DType::kInt64, {})});
    g.nodes[0]->inputs[1] = g.inputs[1].value;
  });
}

TEST(outputs_are_what_inference_says) {
  check_broken("output 0 is float32[3, 2], but by inference float32[2, 3]",
               [](Graph& g) { g.nodes[0]->outputs[0]->sizes = {3, 2}; });
  check_broken("output 0 is float64[2, 3], but by inference float32[2, 3]",
               [](Graph& g) { g.nodes[0]->outputs[0]->dtype = DType::kFloat64; });
  check_broken("2 outputs are wanted, got 1", [](Graph& g) { g.nodes[1]->outputs.pop_back(); });
  check_broken("output 0 does not point back to its node",
               [](Graph& g) { g.nodes[0]->outputs[0]->node = g.nodes[1].get(); });
  check_broken("output 1 does not point back to its node",
               [](Graph& g) { g.nodes[1]->outputs[1]->output = 0; });
  check_broken("output 0 is missing", [](Graph& g) { g.nodes[0]->outputs[0] = GraphRef(); });
  check_broken("inference refuses the node: add: the shapes [2, 3] and [4] do not broadcast", [](Graph& g) {
    g.inputs.push_back({"y", make_graph_value(DType::kFloat32, {4})});
    g.nodes[0]->inputs[1] = g.inputs[1].value;
  });
}

TEST(variables_are_assigned_once_with_their_type) {
  check_broken("variable \"v\" is assigned twice",
               [](Graph& g) { g.assignments.push_back(g.assignments[0]); });
  check_broken("there is no variable number 2", [](Graph& g) { g.assignments[0].variable = 2; });
  check_broken("variable \"v\" is float32[2, 3], but is assigned float32[4, 3]",
               [](Graph& g) { g.assignments[0].value = g.nodes[2]->outputs[0]; });
}

TEST(draws_are_in_range_and_shared_by_copies_only) {
  check_broken("a draw below 2 is wanted, got 2", [](Graph& g) { set_draw(*g.nodes[1], 2); });
  check_broken("a draw below 2 is wanted, got -1", [](Graph& g) { set_draw(*g.nodes[1], -1); });
  auto graph = parsed(R"(graph "g" {
  input %0 "x" : float32[2]
  %1, %2 = dropout_of(%0) draw 0 : float32[2], bool[2]
  %3, %4 = dropout_of(%0) draw 0 : float32[2], bool[2]
  %5, %6 = dropout_of(%0, p=0.1) draw 1 : float32[2], bool[2]
  return
  draws 2
}
)");
  verify(*graph);
  set_draw(*graph->nodes[2], 0);
  CHECK_THROWS(Error, verify(*graph), "draw 0 serves another node too: %1, %2 = dropout_of(%0) draw 0");
}

TEST(lifted_numbers_stand_for_numbers) {
  check_broken("there is no number $1", [](Graph& g) { g.nodes[3]->lifted[0].number = 1; });
  check_broken("$0 stands for parameter 0, which is no attribute",
               [](Graph& g) { g.nodes[3]->lifted[0].param = 0; });
  check_broken("$0 stands for parameter 99, which is no attribute",
               [](Graph& g) { g.nodes[3]->lifted[0].param = 99; });
  check_broken("$0 stands for maximize, which is no number: bool",
               [](Graph& g) { g.nodes[3]->lifted[0].param = 7; });
  check_broken("$0 stands for item 0 of lr, which is no list",
               [](Graph& g) { g.nodes[3]->lifted[0].item = 0; });
  check_broken("$0 stands for what $0 stands for: lr",
               [](Graph& g) { g.nodes[3]->lifted.push_back(g.nodes[3]->lifted[0]); });
  auto graph = parsed(R"(graph "g" {
  number $0 "n"
  %0 = full(size=[2, 3], fill_value=$0, dtype=float32) : float32[2, 3]
  return
}
)");
  verify(*graph);
  graph->nodes[0]->lifted = {{0, 2, 0}};
  CHECK_THROWS(Error, verify(*graph), "$0 stands for item 2 of size, which has 2");
}

TEST(what_no_graph_can_hold_is_refused_by_name) {
  auto graph = parsed("graph \"g\" { input %0 \"x\" : float32[2] return }");
  const Value x = graph->inputs[0].value;
  graph->append(registry().get("nonzero"), {&x, 1}, {}, registry().get("nonzero").defaults());
  CHECK_THROWS(Error, verify(*graph), "the sizes of what nonzero makes depend on data");
}

TEST(nodes_name_texts_that_are_there) {
  check_broken("there is no text number 5", [](Graph& g) { g.nodes[0]->origin = 5; });
  check_broken("there is no text number -1", [](Graph& g) { g.nodes[0]->module = -1; });
}
