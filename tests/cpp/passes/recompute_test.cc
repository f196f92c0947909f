// Recomputation: text in, text out.
#include "passes/memory/recompute.h"

#include "eager/dispatch.h"
#include "ir/graph_text.h"
#include "ir/verify.h"
#include "passes/pass.h"
#include "test.h"

using namespace tw;

namespace {

// The graph with the numbered nodes repeated behind node `last`, and dead code taken out.
std::string recomputed(std::string_view text, const std::vector<size_t>& nodes, size_t last) {
  eager::initialize();
  auto graph = ir::parse_graph(text);
  ir::verify(*graph);
  std::vector<char> again(graph->nodes.size());
  for (size_t node : nodes) again[node] = 1;
  passes::recompute(*graph, again, last);
  ir::verify(*graph);
  passes::run_passes(*graph, {passes::find_pass("dead_code"), 1});
  return ir::print_graph(*graph);
}

std::string normal(std::string_view text) {
  eager::initialize();
  return ir::print_graph(*ir::parse_graph(text));
}

}  // namespace

TEST(a_value_is_made_again_after_what_its_reader_waits_for) {
  CHECK_EQ(recomputed(R"(graph "g" {
    input %0 "x" : float32[8, 8]
    input %1 "g" : float32[8, 8]
    %2 = exp(%0) : float32[8, 8]
    %3 = gelu(%2) : float32[8, 8] in "net.act"
    %4 = sum(%3) : float32[]
    %5 = mul(%1, %4) : float32[8, 8]
    %6 = mm(%5, %3) : float32[8, 8]
    %7 = mm(%6, %2) : float32[8, 8]
    return %7
  })",
                      {1}, 2),
           normal(R"(graph "g" {
    input %0 "x" : float32[8, 8]
    input %1 "g" : float32[8, 8]
    %2 = exp(%0) : float32[8, 8]
    %3 = gelu(%2) : float32[8, 8] in "net.act"
    %4 = sum(%3) : float32[]
    %5 = mul(%1, %4) : float32[8, 8]
    %6 = after(%2, %5) : float32[8, 8]
    %7 = gelu(%6) : float32[8, 8] in "net.act"
    %8 = mm(%5, %7) : float32[8, 8]
    %9 = mm(%8, %2) : float32[8, 8]
    return %9
  })"));
}

TEST(chains_views_and_draws_are_made_again) {
  CHECK_EQ(recomputed(R"(graph "g" {
    input %0 "x" : float32[8, 4]
    input %1 "g" : float32[8, 8]
    %2 = exp(%0) : float32[8, 4]
    %3, %4 = dropout_of(%2, p=0.5) draw 0 : float32[8, 4], bool[8, 4]
    %5 = transpose(%3, dim0=0, dim1=1) : float32[4, 8]
    %6 = sum(%5) : float32[]
    %7 = mul(%1, %6) : float32[8, 8]
    %8 = mm(%5, %7) : float32[4, 8]
    %9 = mm(%8, %3) : float32[4, 4]
    %10 = exp(%2) : float32[8, 4]
    return %9, %10
    draws 1
  })",
                      {0, 1}, 3),
           normal(R"(graph "g" {
    input %0 "x" : float32[8, 4]
    input %1 "g" : float32[8, 8]
    %2 = exp(%0) : float32[8, 4]
    %3, %4 = dropout_of(%2, p=0.5) draw 0 : float32[8, 4], bool[8, 4]
    %5 = transpose(%3, dim0=0, dim1=1) : float32[4, 8]
    %6 = sum(%5) : float32[]
    %7 = mul(%1, %6) : float32[8, 8]
    %8 = after(%0, %7) : float32[8, 4]
    %9 = exp(%8) : float32[8, 4]
    %10, %11 = dropout_of(%9, p=0.5) draw 0 : float32[8, 4], bool[8, 4]
    %12 = transpose(%10, dim0=0, dim1=1) : float32[4, 8]
    %13 = mm(%12, %7) : float32[4, 8]
    %14 = mm(%13, %10) : float32[4, 4]
    %15 = exp(%9) : float32[8, 4]
    return %14, %15
    draws 1
  })"));
}

TEST(a_reader_that_waits_for_nothing_new_comes_after_the_node_before_it) {
  CHECK_EQ(recomputed(R"(graph "g" {
    input %0 "x" : float32[8]
    %1 = exp(%0) : float32[8]
    %2 = sum(%1) : float32[]
    %3 = sin(%1) : float32[8]
    return %2, %3
  })",
                      {0}, 1),
           normal(R"(graph "g" {
    input %0 "x" : float32[8]
    %1 = exp(%0) : float32[8]
    %2 = sum(%1) : float32[]
    %3 = after(%0, %2) : float32[8]
    %4 = exp(%3) : float32[8]
    %5 = sin(%4) : float32[8]
    return %2, %5
  })"));
}

TEST(simplifying_leaves_repetitions_as_they_are) {
  auto graph = ir::parse_graph(R"(graph "g" {
    input %0 "x" : float32[8]
    %1 = exp(%0) : float32[8]
    %2 = sum(%1) : float32[]
    %3 = after(%0, %2) : float32[8]
    %4 = exp(%3) : float32[8]
    %5 = sin(%4) : float32[8]
    return %2, %5
  })");
  std::string before = ir::print_graph(*graph);
  passes::simplify(*graph);
  CHECK_EQ(ir::print_graph(*graph), before);
}
