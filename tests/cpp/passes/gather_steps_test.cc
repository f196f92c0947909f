#include "passes/partition/gather_steps.h"

#include "ir/graph_texts.h"
#include "ir/verify.h"
#include "passes/partition/partition.h"
#include "test.h"

using namespace tw;
using namespace tw::passes;
using tw::test::parsed;

namespace {

// Those of a process, of which each line is a node; without types.
std::vector<std::string> steps(std::string_view text, std::vector<int64_t> ranks) {
  auto graph = parsed(text);
  ir::verify(*graph);
  ProcessGraph part = graph_of_process(*graph, std::move(ranks));
  ir::verify(*part.graph);
  std::string out = ir::print_graph(*part.graph);
  CHECK_EQ(ir::print_graph(*ir::parse_graph(out)), out);
  std::vector<std::string> found;
  for (size_t at = 0, end; (end = out.find('\n', at)) != std::string::npos; at = end + 1) {
    std::string line = out.substr(at, end - at);
    if (line.find("_step(") != std::string::npos || line.find("multi_tensor") != std::string::npos)
      found.push_back(line.substr(2, line.find(") : ") - 1));
  }
  return found;
}

using Lines = std::vector<std::string>;

constexpr const char* kStep = R"ir(graph "g" {
  input %0 "x" : float32[8] @cpu[0, 1] S(0)
  input %1 "y" : float32[4] @cpu[0, 1] P(sum)
  variable %2 "a" : float32[8] @cpu[0, 1] S(0)
  variable %3 "b" : float32[4] @cpu[0, 1] B
  variable %4 "a.m" : float32[8] @cpu[0, 1] S(0)
  variable %5 "b.m" : float32[4] @cpu[0, 1] B
  number $0 "lr"
  number $1 "a is new"
  number $2 "b is new"
  %6, %7 = sgd_step([%2], [%0], [%4], fresh=[$1:1], lr=$0:0.5, momentum=0.5, dampening=0.0, weight_decay=0.0, nesterov=False, maximize=False) : float32[8] @cpu[0, 1] S(0), float32[8] @cpu[0, 1] S(0)
  %8 = boxing(%1) : float32[4] @cpu[0, 1] B
  %9, %10 = sgd_step([%3], [%8], [%5], fresh=[$2:0], lr=$0:0.5, momentum=0.5, dampening=0.0, weight_decay=0.0, nesterov=False, maximize=False) : float32[4] @cpu[0, 1] B, float32[4] @cpu[0, 1] B
  assign %2 = %6
  assign %3 = %9
  assign %4 = %7
  assign %5 = %10
  return
}
)ir";

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  return text.replace(text.find(what), what.size(), by);
}

}  // namespace

TEST(steps_of_a_rank_come_together) {
  auto step = [](const char* results, const char* tensors) {
    return cat(
        results, " = sgd_step(", tensors,
        ", fresh=[$1, $2:0], lr=$0:0.5, momentum=0.5, dampening=0.0, weight_decay=0.0, nesterov=False, "
        "maximize=False)");
  };
  CHECK_EQ(steps(kStep, {0, 1}), (Lines{step("%14, %15, %16, %17", "[%4, %6], [%0, %12], [%8, %10]"),
                                        step("%18, %19, %20, %21", "[%5, %7], [%1, %13], [%9, %11]")}));
}

// That of b waits for another process.
TEST(no_step_waits_for_a_later_communication) { CHECK_EQ(steps(kStep, {0}).size(), 2); }

TEST(unlike_steps_stay_apart) {
  CHECK_EQ(steps(replaced(kStep, "momentum=0.5", "momentum=0.75"), {0, 1}).size(), 4);
  CHECK_EQ(steps(replaced(kStep, "lr=$0:0.5", "lr=0.5"), {0, 1}).size(), 4);
}

TEST(what_reads_a_result_comes_after_its_step) {
  constexpr const char* kChain = R"ir(graph "g" {
  input %0 "x" : float32[4] @cpu[0] B
  variable %1 "a" : float32[4] @cpu[0] B
  variable %2 "b" : float32[4] @cpu[0] B
  %3 = sgd_step([%1], [%0], [], fresh=[], lr=0.5, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False, maximize=False) : float32[4] @cpu[0] B
  %4 = exp(%3) : float32[4] @cpu[0] B
  %5 = sgd_step([%2], [%4], [], fresh=[], lr=0.5, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False, maximize=False) : float32[4] @cpu[0] B
  return %3, %5
}
)ir";
  CHECK_EQ(steps(kChain, {0}).size(), 2);
  CHECK_EQ(steps(replaced(kChain, "exp(%3)", "exp(%0)"), {0}).size(), 1);
  CHECK_EQ(steps(replaced(kChain, "([%2], [%4]", "([%3], [%4]"), {0}).size(), 2);
}

TEST(what_all_reduce_into_goes_from_one_to_the_next) {
  constexpr const char* kUnscale = R"ir(graph "g" {
  input %0 "x" : float32[8] @cpu[0] B
  input %1 "y" : float32[4] @cpu[0] B
  input %2 "found" : bool[] @cpu[0] P(max)
  %3, %4 = multi_tensor_unscale([%0], %2, factor=0.5) : float32[8] @cpu[0] B, bool[] @cpu[0] P(max)
  %5, %6 = multi_tensor_unscale([%1], %4, factor=0.5) : float32[4] @cpu[0] B, bool[] @cpu[0] P(max)
  return %3, %5, %6
}
)ir";
  CHECK_EQ(steps(kUnscale, {0}), (Lines{"%3, %4, %5 = multi_tensor_unscale([%0, %1], %2, factor=0.5)"}));
  CHECK_EQ(steps(replaced(kUnscale, "return %3", "return %4"), {0}).size(), 2);
}

TEST(what_all_read_is_the_same) {
  constexpr const char* kClip = R"ir(graph "g" {
  input %0 "x" : float32[8] @cpu[0] B
  input %1 "y" : float32[4] @cpu[0] B
  input %2 "norm" : float32[] @cpu[0] B
  input %3 "other" : float32[] @cpu[0] B
  %4 = multi_tensor_clip([%0], %2, max_norm=0.5) : float32[8] @cpu[0] B
  %5 = multi_tensor_clip([%1], %2, max_norm=0.5) : float32[4] @cpu[0] B
  return %4, %5
}
)ir";
  CHECK_EQ(steps(kClip, {0}), (Lines{"%4, %5 = multi_tensor_clip([%0, %1], %2, max_norm=0.5)"}));
  CHECK_EQ(steps(replaced(kClip, "[%1], %2", "[%1], %3"), {0}).size(), 2);
}
