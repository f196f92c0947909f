#include "passes/partition/partition.h"

#include "ir/graph_texts.h"
#include "ir/layouts.h"
#include "ir/verify.h"
#include "ops/boxing/boxing_part.h"
#include "passes/sbp/layouts.h"
#include "passes/simplify/simplify.h"
#include "test.h"

using namespace tw;
using namespace tw::passes;
using tw::test::parsed;

namespace {

std::string cut(std::string_view text, std::vector<int64_t> ranks) {
  auto graph = parsed(text);
  ir::verify(*graph);
  ProcessGraph part = graph_of_process(*graph, std::move(ranks));
  ir::verify(*part.graph);
  std::string out = ir::print_graph(*part.graph);
  CHECK_EQ(ir::print_graph(*ir::parse_graph(out)), out);
  return out;
}

// A process for each rank.
std::vector<ProcessGraph> all_of(ir::Graph& graph) {
  std::vector<ProcessGraph> all;
  for (int64_t rank : ranks_of(graph)) all.push_back(graph_of_process(graph, {rank}));
  return all;
}

constexpr const char* kStep = R"ir(graph "step" {
  input %0 "x" : float32[5, 6] @cpu[0, 1] S(0)
  input %1 "local" : float32[2]
  variable %2 "w" : float32[4, 6] @cpu[0, 1] B
  number $0 "lr"
  %3 = linear(%0, %2, None) : float32[5, 4] @cpu[0, 1] S(0) in "fc" at "a.py:1"
  %4 = reshape(%3, shape=[5, 2, 2]) : float32[5, 2, 2] @cpu[0, 1] S(0)
  %5 = sum(%4) : float32[] @cpu[0, 1] P(sum)
  %6 = boxing(%5) : float32[] @cpu[0, 1] B
  %7 = exp(%1) : float32[2]
  %8 = mul(%2, %6) : float32[4, 6] @cpu[0, 1] B
  assign %2 = %8
  return %6, %7
}
)ir";

constexpr const char* kStages = R"ir(graph "stages" {
  input %0 "x" : float32[4, 6] @cpu[0, 1] S(0)
  variable %1 "w" : float32[6] @cpu[2] B
  %2 = exp(%0) : float32[4, 6] @cpu[0, 1] S(0)
  %3 = boxing(%2) : float32[4, 6] @cpu[2] B
  %4 = add(%3, %1) : float32[4, 6] @cpu[2] B
  %5 = boxing(%4) : float32[4, 6] @cpu[2] S(0)
  assign %1 = %1
  return %2, %5
}
)ir";

}  // namespace

TEST(a_rank_has_its_parts) {
  CHECK_EQ(cut(kStep, {1}), R"ir(graph "step" {
  input %0 "x@1" : float32[2, 6]
  input %1 "local" : float32[2]
  variable %2 "w@1" : float32[4, 6]
  number $0 "lr"
  %3 = linear(%0, %2, None) : float32[2, 4] in "fc" at "a.py:1"
  %4 = reshape(%3, shape=[2, 2, 2]) : float32[2, 2, 2]
  %5 = sum(%4) : float32[]
  %6 = boxing_part([%5], source="cpu[0, 1] P(sum)", target="cpu[0, 1] B", size=[], dtype=float32, ranks=[1], order=0) : float32[]
  %7 = exp(%1) : float32[2]
  %8 = mul(%2, %6) : float32[4, 6]
  assign %2 = %8
  return %6, %7
}
)ir");
}

TEST(ranks_of_other_placements_do_not_take_part) {
  CHECK_EQ(cut(kStages, {0}), R"ir(graph "stages" {
  input %0 "x@0" : float32[2, 6]
  %1 = exp(%0) : float32[2, 6]
  boxing_part([%1], source="cpu[0, 1] S(0)", target="cpu[2] B", size=[4, 6], dtype=float32, ranks=[0], order=0)
  return %1
}
)ir");
  CHECK_EQ(cut(kStages, {2}), R"ir(graph "stages" {
  variable %0 "w@2" : float32[6]
  %1 = boxing_part([], source="cpu[0, 1] S(0)", target="cpu[2] B", size=[4, 6], dtype=float32, ranks=[2], order=0) : float32[4, 6]
  %2 = add(%1, %0) : float32[4, 6]
  %3 = boxing_part([%2], source="cpu[2] B", target="cpu[2] S(0)", size=[4, 6], dtype=float32, ranks=[2], order=1) : float32[4, 6]
  assign %0 = %0
  return %3
}
)ir");
  auto graph = parsed(kStages);
  CHECK_EQ(ranks_of(*graph), (std::vector<int64_t>{0, 1, 2}));
  ProcessGraph last = graph_of_process(*graph, {2});
  CHECK(last.inputs.empty());
  CHECK(last.variables == (std::vector<PartOf>{{0, 2}}));
  CHECK(last.outputs == (std::vector<PartOf>{{1, 2}}));
}

TEST(a_process_has_the_parts_of_all_its_ranks) {
  CHECK_EQ(cut(kStep, {0, 1}), R"ir(graph "step" {
  input %0 "x@0" : float32[3, 6]
  input %1 "x@1" : float32[2, 6]
  input %2 "local" : float32[2]
  variable %3 "w@0" : float32[4, 6]
  variable %4 "w@1" : float32[4, 6]
  number $0 "lr"
  %5 = linear(%0, %3, None) : float32[3, 4] in "fc" at "a.py:1"
  %6 = linear(%1, %4, None) : float32[2, 4] in "fc" at "a.py:1"
  %7 = reshape(%5, shape=[3, 2, 2]) : float32[3, 2, 2]
  %8 = reshape(%6, shape=[2, 2, 2]) : float32[2, 2, 2]
  %9 = sum(%7) : float32[]
  %10 = sum(%8) : float32[]
  %11, %12 = boxing_part([%9, %10], source="cpu[0, 1] P(sum)", target="cpu[0, 1] B", size=[], dtype=float32, ranks=[0, 1], order=0) : float32[], float32[]
  %13 = exp(%2) : float32[2]
  %14 = mul(%3, %11) : float32[4, 6]
  %15 = mul(%4, %12) : float32[4, 6]
  assign %3 = %14
  assign %4 = %15
  return %11, %12, %13
}
)ir");
}

TEST(attributes_are_those_of_the_part) {
  std::string out = cut(R"ir(graph "g" {
  %0 = full(size=[4, 6], fill_value=1.0, dtype=float32) : float32[4, 6] @cpu[0, 1] S(1)
  return %0
}
)ir",
                        {0});
  CHECK(out.find("full(size=[4, 3]") != std::string::npos);
}

TEST(a_lifted_size_cannot_be_cut) {
  constexpr const char* kLifted = R"ir(graph "g" {
  number $0 "n"
  %0 = full(size=[$0:4, 6], fill_value=1.0, dtype=float32) : float32[4, 6] @cpu[0, 1] LAYOUT
  return %0
}
)ir";
  auto with = [&](const char* layout) {
    std::string text = kLifted;
    return text.replace(text.find("LAYOUT"), 6, layout);
  };
  cut(with("B"), {0});
  CHECK_THROWS(Error, cut(with("S(0)"), {0}), "full: size depends on where a part lies");
}

TEST(meetings_are_in_one_order_on_all_ranks) {
  auto graph = parsed(R"ir(graph "g" {
  input %0 "x" : float32[4] @cpu[0, 1] P(sum)
  input %1 "y" : float32[4] @cpu[1, 2] P(sum)
  %2 = boxing(%0) : float32[4] @cpu[0, 1] B
  %3 = boxing(%1) : float32[4] @cpu[1, 2] B
  %4 = boxing(%2) : float32[4] @cpu[1] B
  return %3, %4
}
)ir");
  std::vector<ProcessGraph> good = all_of(*graph);
  check_meetings(good);
  auto broken = [&](std::string_view message, const auto& change) {
    std::vector<ProcessGraph> parts = all_of(*graph);
    change(parts);
    CHECK_THROWS(Error, check_meetings(parts), message);
  };
  broken("ranks [1] come to boxing 0 after boxing 1",
         [](auto& parts) { std::swap(parts[1].graph->nodes[0], parts[1].graph->nodes[1]); });
  broken("boxing 1, cpu[1, 2] P(sum) -> cpu[1, 2] B of float32[4], is on 1 ranks, but 2 take part",
         [](auto& parts) { parts[2].graph->nodes.clear(); });
  broken("boxing 1 is cpu[1, 2] P(sum) -> cpu[1, 2] S(0) of float32[4] on ranks [2], but elsewhere",
         [](auto& parts) {
           static_cast<ops::BoxingPartAttrs*>(parts[2].graph->nodes[0]->attrs.get())->target =
               "cpu[1, 2] S(0)";
         });
}

TEST(a_meeting_is_never_dead) {
  auto graph = parsed(kStep);
  graph->outputs.clear();
  graph->assignments.clear();
  std::vector<ProcessGraph> parts = all_of(*graph);
  for (ProcessGraph& part : parts) remove_dead_code(*part.graph);
  CHECK_EQ(parts[0].graph->nodes.size(), 4);
  check_meetings(parts);
}

constexpr const char* kLoop = R"ir(graph "loop" {
  input %0 "x" : float32[5, 6] @cpu[0, 1] S(0)
  %1 = sum(%0) : float32[] @cpu[0, 1] P(sum)
  %2 = boxing(%1) : float32[] @cpu[0, 1] B
  %3 = isfinite(%2) : bool[] @cpu[0, 1] B
  %4, %5 = loop(%3, None, [%0], [], [%2], length=4) body {
    input %0 "" : float32[5, 6] @cpu[0, 1] S(0)
    input %1 "" : float32[] @cpu[0, 1] B
    %2 = mul(%0, %1) : float32[5, 6] @cpu[0, 1] S(0)
    %3 = sum(%2) : float32[] @cpu[0, 1] P(sum)
    %4 = boxing(%3) : float32[] @cpu[0, 1] B
    %5 = isfinite(%4) : bool[] @cpu[0, 1] B
    return %5, %2, %2
  } : float32[5, 6] @cpu[0, 1] S(0), float32[4, 5, 6] @cpu[0, 1] S(1)
  return %4, %5
}
)ir";

// One node for all ranks of the process, which goes on by what one of them knows.
TEST(control_flow_holds_the_parts_of_all_ranks) {
  CHECK_EQ(cut(kLoop, {0, 1}), R"ir(graph "loop" {
  input %0 "x@0" : float32[3, 6]
  input %1 "x@1" : float32[2, 6]
  %2 = sum(%0) : float32[]
  %3 = sum(%1) : float32[]
  %4, %5 = boxing_part([%2, %3], source="cpu[0, 1] P(sum)", target="cpu[0, 1] B", size=[], dtype=float32, ranks=[0, 1], order=0) : float32[], float32[]
  %6 = isfinite(%4) : bool[]
  %7 = isfinite(%5) : bool[]
  %8, %9, %10, %11 = loop(%6, None, [%0, %1], [], [%4, %5], length=4) body {
    input %0 "@0" : float32[3, 6]
    input %1 "@1" : float32[2, 6]
    input %2 "@0" : float32[]
    input %3 "@1" : float32[]
    %4 = mul(%0, %2) : float32[3, 6]
    %5 = mul(%1, %3) : float32[2, 6]
    %6 = sum(%4) : float32[]
    %7 = sum(%5) : float32[]
    %8, %9 = boxing_part([%6, %7], source="cpu[0, 1] P(sum)", target="cpu[0, 1] B", size=[], dtype=float32, ranks=[0, 1], order=1) : float32[], float32[]
    %10 = isfinite(%8) : bool[]
    %11 = isfinite(%9) : bool[]
    return %10, %4, %5, %4, %5
  } : float32[3, 6], float32[2, 6], float32[4, 3, 6], float32[4, 2, 6]
  return %8, %9, %10, %11
}
)ir");
  auto graph = parsed(kLoop);
  CHECK_EQ(ranks_of(*graph), (std::vector<int64_t>{0, 1}));
  check_meetings(all_of(*graph));
}

constexpr const char* kStagesInALoop = R"ir(graph "g" {
  input %0 "x" : float32[4] @cpu[0] B
  input %1 "y" : float32[4] @cpu[1] B
  input %2 "z" : float32[4] @cpu[2] B
  %3, %4 = loop(None, None, [%0, %1], [], [], length=3) body {
    input %0 "" : float32[4] @cpu[0] B
    input %1 "" : float32[4] @cpu[1] B
    %2 = exp(%0) : float32[4] @cpu[0] B
    %3 = boxing(%2) : float32[4] @cpu[1] B
    %4 = add(%1, %3) : float32[4] @cpu[1] B
    return %2, %4
  } : float32[4] @cpu[0] B, float32[4] @cpu[1] B
  return %3, %4, %2
}
)ir";

// Each rank has the loop with its own nodes, and none where it has nothing to do.
TEST(stages_go_through_one_loop) {
  CHECK_EQ(cut(kStagesInALoop, {0}), R"ir(graph "g" {
  input %0 "x@0" : float32[4]
  %1 = loop(None, None, [%0], [], [], length=3) body {
    input %0 "@0" : float32[4]
    %1 = exp(%0) : float32[4]
    boxing_part([%1], source="cpu[0] B", target="cpu[1] B", size=[4], dtype=float32, ranks=[0], order=0)
    return %1
  } : float32[4]
  return %1
}
)ir");
  auto graph = parsed(kStagesInALoop);
  auto all = all_of(*graph);
  check_meetings(all);
  CHECK_EQ(all[1].graph->nodes[0]->regions[0]->nodes.size(), 2);
  CHECK(all[2].outputs == (std::vector<PartOf>{{2, 2}}));
}

// A rank that comes to a boxing in a region alone.
TEST(boxings_in_regions_meet_too) {
  auto graph = parsed(kLoop);
  auto all = all_of(*graph);
  ir::Graph& body = *all[1].graph->nodes[3]->regions[0];
  for (auto& node : body.nodes)
    if (ir::is_boxing_part(*node->def)) static_cast<ops::BoxingPartAttrs*>(node->attrs.get())->order = 7;
  CHECK_THROWS(Error, check_meetings(all), "boxing 1");
}

constexpr const char* kParts = R"ir(graph "parts" {
  input %0 "x" : float32[5] @cpu[0, 1] S(0)
  input %1 "y" : float32[3]
  %2 = take_part(%0, layout="cpu[0, 1] S(0)", rank=0) : float32[3]
  %3 = mul(%2, %1) : float32[3]
  %4 = join_parts([%3], layout="cpu[0, 1] S(0)", ranks=[0], size=[5], dtype=float32) : float32[5] @cpu[0, 1] S(0)
  %5 = exp(%4) : float32[5] @cpu[0, 1] S(0)
  return %3, %5
}
)ir";

// The graph of the process of rank 0, as it knows that of rank 1.
TEST(parts_are_what_they_are) {
  CHECK_EQ(cut(kParts, {0}), R"ir(graph "parts" {
  input %0 "x@0" : float32[3]
  input %1 "y" : float32[3]
  %2 = mul(%0, %1) : float32[3]
  %3 = exp(%2) : float32[3]
  return %2, %3
}
)ir");
  CHECK_EQ(cut(kParts, {1}), R"ir(graph "parts" {
  input %0 "x@1" : float32[2]
  input %1 "y" : float32[3]
  input %2 "part@1" : float32[2]
  %3 = exp(%2) : float32[2]
  return %3
}
)ir");
}
