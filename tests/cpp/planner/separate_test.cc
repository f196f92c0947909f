#include "planner/separate.h"

#include "eager/dispatch.h"
#include "ir/graph_text.h"
#include "test.h"

using namespace tw;

namespace {

// Of a process with two GPUs, of which the outputs are one part each.
std::string separated(const std::string& text, std::vector<int64_t> output_ranks) {
  eager::initialize();
  auto graph = ir::parse_graph(text);
  graph->ranks = {4, 5};
  for (auto& node : graph->nodes)
    for (auto& region : node->regions) region->ranks = graph->ranks, region->output_ranks = {-1};
  graph->output_ranks = std::move(output_ranks);
  planner::separate_devices(*graph);
  return ir::print_graph(*graph);
}

}  // namespace

TEST(what_is_made_of_nothing_is_made_where_it_is_read) {
  CHECK_EQ(separated(R"(graph "step" on "cuda:0" {
  input %0 "x@4" : float32[2]
  input %1 "x@5" : float32[2]
  %2 = full(size=[2], fill_value=3, dtype=int64) : int64[2]
  %3 = cast(%2, dtype=float32) : float32[2]
  %4 = add(%0, %3) : float32[2]
  %5 = add(%3, %1) : float32[2]
  return %4, %5, %3
}
)",
                     {4, 5, 5}),
           R"(graph "step" on "cuda:0" {
  input %0 "x@4" : float32[2]
  input %1 "x@5" : float32[2]
  %2 = full(size=[2], fill_value=3, dtype=int64) : int64[2]
  %3 = cast(%2, dtype=float32) : float32[2]
  %4 = full(size=[2], fill_value=3, dtype=int64) : int64[2]
  %5 = cast(%4, dtype=float32) : float32[2]
  %6 = add(%0, %5) : float32[2]
  %7 = add(%3, %1) : float32[2]
  return %6, %7, %3
}
)");
}

TEST(what_depends_on_leaves_is_sent) {
  CHECK_EQ(separated(R"(graph "step" on "cuda:0" {
  input %0 "x@4" : float32[2]
  input %1 "x@5" : float32[2]
  %2 = exp(%1) : float32[2]
  %3 = add(%0, %2) : float32[2]
  %4 = mul(%0, %2) : float32[2]
  return %3, %4
}
)",
                     {4, 4}),
           R"(graph "step" on "cuda:0" {
  input %0 "x@4" : float32[2]
  input %1 "x@5" : float32[2]
  %2 = exp(%1) : float32[2]
  %3 = boxing_part([%2], source="cuda[5] B", target="cuda[4] B", size=[2], dtype=float32, ranks=[5, 4], order=0) : float32[2]
  %4 = add(%0, %3) : float32[2]
  %5 = mul(%0, %3) : float32[2]
  return %4, %5
}
)");
}

TEST(operands_and_results_of_regions_stay_on_their_devices) {
  const std::string text = separated(R"(graph "step" on "cuda:0" {
  input %0 "p@4" : bool[]
  input %1 "x@4" : float32[2]
  input %2 "x@5" : float32[2]
  %3 = cond(%0, [%1, %2]) then {
    input %0 "x@4" : float32[2]
    input %1 "x@5" : float32[2]
    %2 = mul(%1, %1) : float32[2]
    return %2
  } else {
    input %0 "x@4" : float32[2]
    input %1 "x@5" : float32[2]
    %2 = mul(%0, %0) : float32[2]
    return %2
  } : float32[2]
  return %3
}
)",
                                     {5});
  CHECK(text.find("ranks=[4, 5]") != std::string::npos);  // in the second branch alone
  CHECK(text.find("ranks=[5, 4]") == std::string::npos);
}
