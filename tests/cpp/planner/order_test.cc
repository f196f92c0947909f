// Orders of nodes: they keep dependences and the commit, and never need more memory than the recorded one.
#include "planner/order.h"

#include <unordered_map>

#include "eager/dispatch.h"
#include "ir/graph_text.h"
#include "planner/memory.h"
#include "planner/packing/random.h"
#include "planner/plan_graph.h"
#include "test.h"

using namespace tw;

namespace {

std::unique_ptr<ir::Graph> parsed(std::string_view text) {
  eager::initialize();
  auto graph = ir::parse_graph(text);
  graph->number();
  return graph;
}

int64_t peak(ir::Graph& graph, const planner::Order& order) {
  return planner::live_peak(planner::lay_out(graph, order));
}

std::string names(const planner::Order& order) {
  std::string text;
  for (const ir::Node* node : order.nodes) text += cat(text.empty() ? "" : " ", node->def->name());
  return text;
}

// Every node comes after those whose values it takes, and all are there once.
void check_order(const ir::Graph& graph, const planner::Order& order) {
  CHECK_EQ(order.nodes.size(), graph.nodes.size());
  std::unordered_map<const ir::Node*, size_t> at;
  for (size_t i = 0; i < order.nodes.size(); i++) CHECK(at.emplace(order.nodes[i], i).second);
  for (size_t i = 0; i < order.nodes.size(); i++)
    for (const ir::Value& input : order.nodes[i]->inputs)
      if (input && ir::graph_value(input).node) CHECK(at.at(ir::graph_value(input).node) < i);
}

// Random pointwise ops, products and sums over values of different sizes.
std::unique_ptr<ir::Graph> random_graph(planner::Random& random, int count) {
  auto graph = parsed(
      "graph \"random\" { input %0 \"x\" : float32[64, 64] variable %1 \"v\" : float32[64, 64] return }");
  ir::GraphEmitter emitter(*graph);
  ir::Emitter* before = ir::Emitter::swap_current(&emitter);
  std::vector<ir::Value> square{graph->inputs[0].value, graph->variables[0].value}, small;
  auto pick = [&](std::vector<ir::Value>& from) {
    return from[random.below(static_cast<int64_t>(from.size()))];
  };
  for (int i = 0; i < count; i++) {
    switch (random.below(small.empty() ? 4 : 5)) {
      case 0:
        square.push_back(ir::op<"exp">(pick(square)));
        break;
      case 1:
        square.push_back(ir::op<"mm">(pick(square), ir::op<"transpose">(pick(square), 0, 1)));
        break;
      case 2:
        square.push_back(pick(square) + pick(square));
        break;
      case 3:
        small.push_back(ir::op<"sum">(pick(square)));
        break;
      default:
        small.push_back(pick(small) + pick(small));
    }
  }
  if (small.empty()) small.push_back(ir::op<"sum">(pick(square)));
  ir::Emitter::swap_current(before);
  graph->outputs = {small.back(), square.back()};
  graph->assignments.push_back({0, pick(square)});
  graph->number();
  return graph;
}

}  // namespace

TEST(branches_run_one_after_the_other) {
  auto graph = parsed(R"(graph "g" {
    input %0 "x" : float32[64, 64]
    %1 = exp(%0) : float32[64, 64]
    %2 = sin(%0) : float32[64, 64]
    %3 = tanh(%0) : float32[64, 64]
    %4 = sum(%1) : float32[]
    %5 = sum(%2) : float32[]
    %6 = sum(%3) : float32[]
    %7 = add(%4, %5) : float32[]
    %8 = add(%7, %6) : float32[]
    return %8
  })");
  auto recorded = planner::recorded_order(*graph), lean = planner::lean_order(*graph, recorded);
  check_order(*graph, lean);
  const int64_t square = 64 * 64 * 4;
  CHECK(peak(*graph, recorded) >= 3 * square);
  CHECK(peak(*graph, lean) < 2 * square);
  auto plan = planner::plan_graph(*graph);
  CHECK_EQ(plan.lower_bound_bytes, peak(*graph, lean));
}

TEST(what_is_needed_late_runs_late_and_what_frees_runs_early) {
  auto graph = parsed(R"(graph "g" {
    input %0 "x" : float32[64, 64]
    %1 = exp(%0) : float32[64, 64]
    %2 = sin(%0) : float32[64, 64]
    %3 = mm(%2, %2) : float32[64, 64]
    %4 = cos(%2) : float32[64, 64]
    %5 = sum(%3) : float32[]
    %6 = mul(%1, %5) : float32[64, 64]
    %7 = sum(%4) : float32[]
    %8 = sum(%6) : float32[]
    %9 = add(%7, %8) : float32[]
    return %9
  })");
  auto lean = planner::lean_order(*graph, planner::recorded_order(*graph));
  check_order(*graph, lean);
  CHECK_EQ(names(lean), "sin mm sum exp mul sum cos sum add");
}

TEST(the_commit_stays_last_and_as_it_was) {
  auto graph = parsed(R"(graph "g" {
    input %0 "x" : float32[64, 64]
    variable %1 "v" : float32[64, 64]
    %2 = add(%1, %0) : float32[64, 64]
    %3 = exp(%0) : float32[64, 64]
    %4 = sum(%3) : float32[]
    assign %1 = %2
    return %4
  })");
  auto recorded = planner::recorded_order(*graph), lean = planner::lean_order(*graph, recorded);
  CHECK_EQ(lean.commit, size_t{2});
  CHECK_EQ(names(lean), "exp sum add");
}

TEST(random_graphs_need_no_more_memory_than_in_the_recorded_order) {
  eager::initialize();
  planner::Random random(7);
  int better = 0;
  for (int round = 0; round < 200; round++) {
    auto graph = random_graph(random, 5 + static_cast<int>(random.below(60)));
    auto recorded = planner::recorded_order(*graph), lean = planner::lean_order(*graph, recorded);
    check_order(*graph, lean);
    CHECK_EQ(lean.commit, recorded.commit);
    CHECK(names(lean) == names(planner::lean_order(*graph, recorded)));
    int64_t before = peak(*graph, recorded), chosen = planner::plan_graph(*graph).lower_bound_bytes;
    CHECK(chosen <= before);
    better += chosen < before;
  }
  CHECK(better > 100);
}
