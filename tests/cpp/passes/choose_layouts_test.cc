// The search for layouts against trying everything.
#include "passes/sbp/layouts.h"

#include <limits>
#include <random>
#include <ranges>

#include "ir/emitter.h"
#include "ir/graph_texts.h"
#include "ir/verify.h"
#include "passes/sbp/problem.h"
#include "passes/sbp/sources.h"
#include "test.h"

using namespace tw;
using namespace tw::passes;
using tw::test::parsed;

namespace {

using Random = std::mt19937;
int below(Random& random, int count) { return static_cast<int>(random() % static_cast<unsigned>(count)); }

sbp::PlacementRef mesh(const Dims& shape) {
  std::vector<int64_t> ranks(numel(shape));
  for (size_t i = 0; i < ranks.size(); i++) ranks[i] = static_cast<int64_t>(i);
  return sbp::placement("cpu", shape, ranks);
}

sbp::Sbp random_sbp(Random& random, bool pending) {
  switch (below(random, pending ? 4 : 3)) {
    case 0:
      return sbp::broadcast();
    case 3:
      return sbp::partial();
    default:
      return sbp::split(below(random, 2), 1 + below(random, 2));
  }
}

sbp::LayoutRef random_layout(Random& random, const sbp::PlacementRef& placement, bool pending) {
  sbp::NdSbp sbp;
  for (int64_t axis = 0; axis < placement->axes(); axis++) sbp.push_back(random_sbp(random, pending));
  return sbp::layout(placement, sbp);
}

// Up to `nodes` ops on square matrices and columns, of a few leaves that have layouts.
std::unique_ptr<ir::Graph> random_graph(Random& random, const sbp::PlacementRef& placement, int nodes) {
  auto graph = std::make_unique<ir::Graph>();
  const int64_t n = 6 * (1 + below(random, 100));
  std::vector<ir::Value> values;
  for (int i = 1 + below(random, 3); i > 0; i--) {
    ir::GraphRef leaf = ir::make_graph_value(DType::kFloat32, {n, n});
    leaf->layout = random_layout(random, placement, true);
    graph->inputs.push_back({cat("x", i), leaf});
    values.push_back(leaf);
  }
  ir::GraphEmitter emitter(*graph);
  ir::Emitter* before = ir::Emitter::swap_current(&emitter);
  auto any = [&] { return values[below(random, static_cast<int>(values.size()))]; };
  auto square = [&] {
    ir::Value value = any();
    while (value->sizes[1] != n) value = any();
    return value;
  };
  for (int i = 0; i < nodes; i++) {
    switch (below(random, 6)) {
      case 0:
        values.push_back(ir::op<"exp">(any()));
        break;
      case 1:
        values.push_back(ir::op<"add">(square(), any()));
        break;
      case 2:
        values.push_back(ir::op<"mul">(any(), any()));
        break;
      case 3:
        values.push_back(ir::op<"mm">(square(), any()));
        break;
      case 4:
        values.push_back(ir::op<"transpose">(square(), 0, 1));
        break;
      default:
        values.push_back(ir::op<"sum">(any(), IntList{1}, true));
    }
    if (below(random, 6) == 0) {  // the user says how it lies
      const ir::OpDef& boxing = ir::registry().get("boxing");
      ir::Node& node = graph->append(boxing, {&values.back(), 1}, {}, boxing.defaults());
      node.outputs[0]->layout = random_layout(random, placement, false);
      values.push_back(node.outputs[0]);
      i++;
    }
  }
  ir::Emitter::swap_current(before);
  graph->outputs = {values.back()};
  if (below(random, 2)) graph->outputs.push_back(any());
  return graph;
}

// Tries all candidates of node `choice.size()` and what follows; what costs more than the best is left.
void try_all(const Problem& problem, std::vector<int>& choice, BoxingTimes& times, double* best) {
  double cost = cost_of(problem, choice, times);
  if (cost >= *best) return;
  if (choice.size() == problem.nodes.size()) {
    *best = cost;
    return;
  }
  const auto count = static_cast<int>(problem.nodes[choice.size()].candidates.size());
  for (int c = 0; c < count; c++) {
    choice.push_back(c);
    try_all(problem, choice, times, best);
    choice.pop_back();
  }
}

void check_against_all(unsigned seed, const Dims& shape, int nodes) {
  Random random(seed);
  auto graph = random_graph(random, mesh(shape), nodes);
  ir::verify(*graph);
  std::string text = ir::print_graph(*graph);
  machine::Machine machine;
  machine.flops_per_second *= std::pow(10, below(random, 3) - 1);
  machine.memory_bytes_per_second *= std::pow(10, below(random, 3) - 1);
  GraphProblem stated = problem_of(*graph, machine);
  Choices found = search(stated.problem);
  CHECK(found.exact);
  BoxingTimes times;
  double best = std::numeric_limits<double>::infinity();
  std::vector<int> choice;
  double cost = cost_of(stated.problem, found.candidates, times);
  CHECK(std::abs(cost - found.seconds) <= 1e-9 * cost);
  try_all(stated.problem, choice, times, &best);
  if (std::abs(best - found.seconds) > 1e-9 * best)
    throw tw::test::Failure(cat("seed ", seed, ": found ", found.seconds, ", best ", best, "\n", text));
  choose_layouts(*graph, machine);
  ir::verify(*graph);
}

}  // namespace

TEST(the_search_finds_what_trying_everything_finds) {
  eager::initialize();
  for (unsigned seed = 0; seed < 200; seed++)
    check_against_all(seed, {2 + seed % 2}, static_cast<int>(1 + seed % 8));
}

TEST(also_on_two_axes) {
  eager::initialize();
  for (unsigned seed = 0; seed < 60; seed++)
    check_against_all(1000 + seed, {2, 2}, static_cast<int>(1 + seed % 4));
}

TEST(long_chains_and_trees_are_exact) {
  eager::initialize();
  auto graph = std::make_unique<ir::Graph>();
  ir::GraphEmitter emitter(*graph);
  ir::Emitter* before = ir::Emitter::swap_current(&emitter);
  Random random(7);
  std::vector<ir::Value> values;
  for (int i = 0; i < 64; i++) {
    ir::GraphRef leaf = ir::make_graph_value(DType::kFloat32, {600, 600});
    leaf->layout = random_layout(random, mesh({2}), true);
    graph->inputs.push_back({cat("x", i), leaf});
    values.push_back(leaf);
  }
  while (values.size() > 1) {
    ir::Value one = values[values.size() - 1], other = values[values.size() - 2];
    values.resize(values.size() - 2);
    ir::Value made = below(random, 2) ? ir::op<"mm">(one, other) : ir::op<"mul">(one, other);
    for (int i = below(random, 4); i > 0; i--) made = ir::op<"exp">(made);
    values.insert(values.begin() + below(random, static_cast<int>(values.size()) + 1), made);
  }
  ir::Emitter::swap_current(before);
  graph->outputs = values;
  CHECK(choose_layouts(*graph, {}));
  ir::verify(*graph);
}

// Blocks with a residual and a step back through all of them, which reads what each has made: more values are
// in use at once than can be told apart.
double seconds_of_blocks(int blocks) {
  auto graph = std::make_unique<ir::Graph>();
  ir::GraphEmitter emitter(*graph);
  ir::Emitter* before = ir::Emitter::swap_current(&emitter);
  auto input = [&](const sbp::NdSbp& sbp) {
    ir::GraphRef leaf = ir::make_graph_value(DType::kFloat32, {96, 96});
    leaf->layout = sbp::layout(mesh({2, 2}), sbp);
    graph->inputs.push_back({cat("x", graph->inputs.size()), leaf});
    return ir::Value(leaf);
  };
  const sbp::Sbp whole = sbp::broadcast();
  auto turned = [](const ir::Value& value) { return ir::op<"transpose">(value, 0, 1); };
  auto update = [&](const ir::Value& weight, const ir::Value& gradient) {
    const sbp::NdSbp& sbp = ir::graph_value(weight).layout->sbp;
    ir::Value mean = input(sbp) + gradient, squares = input(sbp) + gradient * gradient;
    graph->outputs.push_back(weight - mean / ir::op<"sqrt">(squares));
    graph->outputs.push_back(mean);
    graph->outputs.push_back(squares);
  };
  struct Block {
    ir::Value query, key, out, normed = {}, left = {}, right = {}, hidden = {};
  };
  ir::Value x = input({sbp::split(0), whole});
  std::vector<Block> made;
  for (int i = 0; i < blocks; i++) {
    Block b{input({whole, sbp::split(1)}), input({whole, sbp::split(1)}), input({whole, sbp::split(0)})};
    b.normed = x * ir::op<"sum">(x, IntList{1}, true);
    b.left = ir::op<"mm">(b.normed, b.query);
    b.right = ir::op<"mm">(b.normed, b.key);
    b.hidden = ir::op<"mm">(ir::op<"exp">(ir::op<"mm">(b.left, turned(b.right))), b.left);
    x = x + ir::op<"mm">(b.hidden, b.out);
    made.push_back(b);
  }
  ir::Value g = ir::op<"exp">(x);
  for (auto& b : made | std::views::reverse) {
    ir::Value inner = b.hidden * ir::op<"mm">(g, turned(b.out));
    ir::Value left = ir::op<"mm">(inner, b.right), right = ir::op<"mm">(inner, b.left);
    update(b.out, ir::op<"mm">(turned(b.hidden), g));
    update(b.query, ir::op<"mm">(turned(b.normed), left));
    update(b.key, ir::op<"mm">(turned(b.normed), right));
    ir::Value of_normed = ir::op<"mm">(left, turned(b.query)) + ir::op<"mm">(right, turned(b.key));
    g = g + of_normed * ir::op<"sum">(of_normed * b.normed, IntList{1}, true);
  }
  ir::Emitter::swap_current(before);
  graph->outputs.push_back(g);
  return search(problem_of(*graph, machine::Machine()).problem).seconds;
}

TEST(each_of_many_blocks_costs_what_one_costs) {
  eager::initialize();
  double three = seconds_of_blocks(3), each = three - seconds_of_blocks(2);
  for (int blocks : {6, 24, 40}) {
    double wanted = three + (blocks - 3) * each, found = seconds_of_blocks(blocks);
    if (found > 1.0001 * wanted)
      throw tw::test::Failure(cat(blocks, " blocks: found ", found, ", wanted ", wanted));
  }
}

TEST(placements_do_not_mix) {
  auto graph = parsed(R"(graph "g" {
  input %0 "x" : float32[4] @cpu[0, 1] B
  input %1 "y" : float32[4] @cpu[1, 0] B
  %2 = exp(%0) : float32[4]
  %3 = add(%2, %1) : float32[4]
  return %3
}
)");
  CHECK_THROWS(Error, choose_layouts(*graph, {}),
               "add: its tensors lie on cpu[0, 1] and on cpu[1, 0]; to_global");
}

TEST(what_nobody_offers_is_said) {
  auto graph = parsed(R"(graph "g" {
  input %0 "x" : float32[4] @cpu[0, 1] B
  %1 = exp(%0) : float32[4] @cpu[0, 1] P(sum)
  return %1
}
)");
  CHECK_THROWS(Error, choose_layouts(*graph, {}), "exp: no signature gives its results the layout");
}
