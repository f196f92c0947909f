#include <cstdlib>
#include <random>
#include <set>

#include "eager/dispatch.h"
#include "eager/tensor.h"
#include "ir/graph_text.h"
#include "ir/random_nodes.h"
#include "passes/pass.h"
#include "test.h"

using namespace tw;

namespace {

std::unique_ptr<ir::Graph> parsed(std::string_view text) {
  eager::initialize();
  return ir::parse_graph(text);
}

// x*1, two transposes that cancel and a repeated exp, again and again: five nodes, of which two remain.
std::unique_ptr<ir::Graph> long_graph(int repeats) {
  auto graph = parsed("graph \"long\" { input %0 \"x\" : float32[8, 8] return }");
  ir::GraphEmitter emitter(*graph);
  ir::Emitter* before = ir::Emitter::swap_current(&emitter);
  ir::Value x = graph->inputs[0].value, one = ir::op<"full">(IntList{}, 1.0, DType::kFloat32);
  for (int i = 0; i < repeats; i++) {
    ir::Value y = ir::op<"transpose">(ir::op<"transpose">(x * one, 0, 1), 0, 1);
    x = ir::op<"exp">(y) + ir::op<"exp">(x);
  }
  ir::Emitter::swap_current(before);
  graph->outputs.push_back(x);
  return graph;
}

// What a graph computes, op by op in eager mode.
std::vector<ir::Value> run(const ir::Graph& graph, const std::vector<ir::Value>& inputs) {
  std::unordered_map<const ir::ValueImpl*, ir::Value> values;
  for (size_t i = 0; i < inputs.size(); i++) values[graph.inputs[i].value.get()] = inputs[i];
  for (const auto& node : graph.nodes) {
    std::vector<ir::Value> args;
    for (const ir::Value& input : node->inputs) args.push_back(input ? values.at(input.get()) : input);
    ir::AttrBox attrs(node->def->attr_type, node->attrs.get());
    ir::Values results;
    eager::dispatch(*node->def, args, {node->starts.begin(), node->starts.size()}, attrs.get(), &results);
    for (size_t i = 0; i < results.size(); i++) values[node->outputs[i].get()] = results[i];
  }
  std::vector<ir::Value> outputs;
  for (const ir::Value& output : graph.outputs) outputs.push_back(values.at(output.get()));
  return outputs;
}

// Elements as bytes, in row-major order, with one NaN for all.
std::string bytes_of(const ir::Value& value) {
  ir::Value dense = ir::op<"row_major">(value);
  if (is_float(dense->dtype))
    dense = ir::op<"where">(ir::op<"eq">(dense, dense), dense, ir::op<"full">(IntList{}, NAN, dense->dtype));
  dense = ir::op<"row_major">(dense);
  const auto* data = static_cast<const char*>(eager::tensor_of(dense).data());
  return {data, data + dense->count() * size_of(dense->dtype)};
}

// A value of this type where arithmetic has its corners.
ir::Value corners(const ir::ValueImpl& type, std::mt19937& random) {
  static const double kValues[] = {0.0,   -0.0, 1.0,   -1.0,  0.5,      -2.5,      3.0,
                                   1e-40, 1e30, 255.0, 1e-20, INFINITY, -INFINITY, NAN};
  size_t kinds = is_float(type.dtype) ? std::size(kValues) : 7;
  DType dtype = is_float(type.dtype) ? type.dtype : DType::kFloat64;
  ir::Values items;
  for (int64_t i = 0; i < type.count(); i++)
    items.push_back(ir::op<"full">(IntList{1}, Scalar(kValues[random() % kinds]), dtype));
  ir::Value flat = items.empty() ? ir::op<"full">(IntList{0}, 0, dtype) : ir::op<"cat">(items, 0);
  return ir::op<"cast">(ir::op<"reshape">(flat, type.sizes), type.dtype);
}

// A program of ops that the passes know, over values of one shape and its transpose.
std::unique_ptr<ir::Graph> random_graph(DType dtype, std::mt19937& random) {
  auto graph = std::make_unique<ir::Graph>();
  for (const char* name : {"a", "b"}) graph->inputs.push_back({name, ir::make_graph_value(dtype, {2, 3})});
  ir::GraphEmitter emitter(*graph);
  ir::Emitter* before = ir::Emitter::swap_current(&emitter);
  std::vector<ir::Value> values = {graph->inputs[0].value, graph->inputs[1].value};
  auto any = [&] { return values[values.size() - 1 - random() % std::min<size_t>(values.size(), 6)]; };
  auto constant = [&] {
    static const double kNumbers[] = {0.0, -0.0, 1.0, -1.0, 2.0};
    return ir::op<"full">(IntList{}, Scalar(kNumbers[random() % 5]), dtype);
  };
  DType other = static_cast<DType>(random() % kDTypeCount);
  for (int i = 0; i < 30; i++) {
    ir::Value x = any(), y = random() % 3 ? any() : constant();
    switch (random() % 14) {
      case 0:
        values.push_back(x + y);
        break;
      case 1:
        values.push_back(is_bool(dtype) ? x : x - y);
        break;
      case 2:
        values.push_back(x * y);
        break;
      case 3:
        values.push_back(is_bool(dtype) ? ir::op<"bitwise_not">(x) : -x);
        break;
      case 4:
        values.push_back(ir::op<"transpose">(ir::op<"transpose">(x, 0, 1), random() % 2, random() % 2));
        break;
      case 5:
        values.push_back(ir::op<"reshape">(x, IntList{6}));
        break;
      case 6:
        values.push_back(ir::op<"cast">(ir::op<"cast">(x, other), dtype));
        break;
      case 7:
        values.push_back(ir::op<"clone">(x));
        break;
      case 8:
        values.push_back(ir::op<"conj">(x));
        break;
      case 9:
        values.push_back(ir::op<"squeeze">(ir::op<"unsqueeze">(x, 0), nullptr));
        break;
      case 10:
        values.push_back(ir::op<"where">(ir::op<"eq">(x, x), x, y));
        break;
      case 11:
        values.push_back(is_bool(dtype) || is_complex(dtype) ? x : ir::op<"relu">(x));
        break;
      case 12:
        values.push_back(is_float(dtype) ? ir::op<"true_divide">(x, y) : x);
        break;
      default:
        values.push_back(ir::op<"permute">(x, x->rank() == 2 ? IntList{1, 0} : IntList{0}));
    }
    // Keep one shape, so that any two values broadcast.
    values.back() = ir::op<"reshape">(values.back(), IntList{2, 3});
  }
  ir::Emitter::swap_current(before);
  for (int i = 0; i < 4; i++) graph->outputs.push_back(any());
  return graph;
}

// Ops that compute on elements or move them, and that check what they are given: gradient rules feed some ops
// that trust them.
std::vector<const ir::OpDef*> checked_ops() {
  static const std::set<std::string> kFamilies = {"pointwise", "view", "movement", "activation"};
  std::vector<const ir::OpDef*> ops;
  for (const auto& def : ir::registry().all()) {
    // Of windows on memory eager mode asks strides that values do not have, and view_dtype makes bools of any
    // bits.
    static const std::set<std::string> kOfMemory = {"as_strided", "as_strided_scatter", "view_as_complex",
                                                    "view_dtype"};
    bool windows = kOfMemory.contains(def->schema.name);
    bool checks = def->schema.tensor_count == 1 || def->promotion != ir::Promotion::kNone;
    if (def->infer && !def->dynamic_sizes && !windows && checks && kFamilies.contains(def->family))
      ops.push_back(def.get());
  }
  return ops;
}

}  // namespace

TEST(simplifying_changes_no_bit) {
  eager::initialize();
  std::mt19937 random(5);
  size_t nodes_before = 0, nodes_after = 0;
  for (int round = 0; round < 600; round++) {
    auto dtype = static_cast<DType>(round % kDTypeCount);
    auto graph = random_graph(dtype, random);
    ir::verify(*graph);
    std::vector<ir::Value> inputs;
    for (const ir::Leaf& leaf : graph->inputs) inputs.push_back(corners(*leaf.value, random));
    std::vector<ir::Value> wanted = run(*graph, inputs);
    std::string text = ir::print_graph(*graph);
    nodes_before += graph->nodes.size();
    passes::simplify(*graph);
    nodes_after += graph->nodes.size();
    std::vector<ir::Value> got = run(*graph, inputs);
    for (size_t i = 0; i < wanted.size(); i++)
      if (bytes_of(got[i]) != bytes_of(wanted[i])) CHECK_EQ(text, ir::print_graph(*graph));
  }
  CHECK_LT(nodes_after * 3, nodes_before * 2);
}

// Odd programs, negative dims and empty shapes among them.
TEST(simplifying_odd_programs_changes_no_bit) {
  eager::initialize();
  std::vector<const ir::OpDef*> ops = checked_ops();
  test::RandomNodes nodes(11);
  std::mt19937 random(6);
  size_t removed = 0;
  int compared = 0;
  for (int round = 0; round < 300; round++) {
    auto graph =
        nodes.program(ops, 60, [](const ir::Node& node) { return node.outputs[0]->count() <= 1000; });
    std::vector<ir::Value> inputs, wanted;
    for (const ir::Leaf& leaf : graph->inputs) inputs.push_back(corners(*leaf.value, random));
    try {
      wanted = run(*graph, inputs);
    } catch (const Error&) {
      continue;
    }
    compared++;
    std::string text = ir::print_graph(*graph);
    size_t before = graph->nodes.size();
    passes::simplify(*graph);
    removed += before - graph->nodes.size();
    std::vector<ir::Value> got = run(*graph, inputs);
    for (size_t i = 0; i < wanted.size(); i++)
      if (bytes_of(got[i]) != bytes_of(wanted[i])) CHECK_EQ(text, ir::print_graph(*graph));
  }
  CHECK_GT(compared, 200);
  CHECK_GT(removed, 1000);
}

TEST(the_passes_feed_each_other) {
  auto graph = parsed(R"(graph "g" {
  input %0 "x" : float32[2, 3]
  %1 = full(size=[], fill_value=1.0, dtype=float32) : float32[]
  %2 = transpose(%0, dim0=0, dim1=1) : float32[3, 2]
  %3 = mul(%2, %1) : float32[3, 2]
  %4 = transpose(%3, dim0=0, dim1=1) : float32[2, 3]
  %5 = exp(%4) : float32[2, 3]
  %6 = exp(%0) : float32[2, 3]
  %7 = sub(%5, %6) : float32[2, 3]
  return %7
}
)");
  passes::simplify(*graph);
  CHECK_EQ(ir::print_graph(*graph), R"(graph "g" {
  input %0 "x" : float32[2, 3]
  %1 = exp(%0) : float32[2, 3]
  %2 = sub(%1, %1) : float32[2, 3]
  return %2
}
)");
}

// Near-linear: what is quadratic takes minutes here.
TEST(a_hundred_thousand_nodes) {
  auto graph = long_graph(20000);
  CHECK_EQ(graph->nodes.size(), 120001);
  std::string text = ir::print_graph(*graph);
  auto copy = ir::parse_graph(text);
  CHECK(ir::print_graph(*copy) == text);
  ir::verify(*copy);
  passes::simplify(*copy);
  CHECK_EQ(copy->nodes.size(), 40000);
}

TEST(a_pass_that_breaks_the_graph_is_named) {
  auto graph = parsed("graph \"g\" { input %0 \"x\" : float32[2] %1 = neg(%0) : float32[2] return %1 }");
  const passes::Pass broken{"breaker", [](ir::Graph& g) { g.nodes.clear(); }};
  CHECK_THROWS(Error, passes::run_passes(*graph, {&broken, 1}),
               "pass breaker broke the graph: graph \"g\": output 0");
}

TEST(passes_are_found_by_name) {
  CHECK_EQ(passes::find_pass("dead_code")->name, std::string("dead_code"));
  CHECK(passes::find_pass("nothing") == nullptr);
}
