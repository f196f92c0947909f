#include "ir/layouts.h"

#include "ir/graph_texts.h"
#include "ir/verify.h"
#include "test.h"

using namespace tw;
using namespace tw::ir;
using tw::test::parsed;

namespace {

constexpr const char* kGraph = R"(graph "g" {
  input %0 "x" : float32[4, 8] @cpu[[0, 1], [2, 3]] (S(0), B)
  input %1 "local" : float32[4]
  variable %2 "w" : float32[6, 8] @cpu[[0, 1], [2, 3]] (B, S(0, unit=2))
  constant %3 "c" : float32[4, 6] @cpu[[3, 1], [2, 0]] (S(0, sizes=[3, 1]), P(max))
  %4 = linear(%0, %2, None) : float32[4, 6] @cpu[[0, 1], [2, 3]] (S(0), S(1, unit=2)) in "fc" at "a.py:1"
  %5 = boxing(%4) : float32[4, 6] @cpu[2, 0, 1] P(sum)
  %6, %7 = max_dim(%0, dim=1) : float32[4] @cpu[[0, 1], [2, 3]] (S(0), B), int64[4] @cpu[[0, 1], [2, 3]] (S(0), B)
  %8 = exp(%4) : float32[4, 6]
  return %5, %6
}
)";

// One line of a graph with an input, which does not verify.
void check_refused(std::string_view message, const std::string& x, const std::string& node) {
  auto graph =
      parsed(cat("graph \"g\" {\n  input %0 \"x\" : float32[4, 6]", x, "\n  ", node, "\n  return\n}\n"));
  CHECK_THROWS(Error, verify(*graph), message);
}

}  // namespace

TEST(layouts_print_and_parse) {
  auto graph = parsed(kGraph);
  verify(*graph);
  CHECK_EQ(print_graph(*graph), kGraph);
  auto again = parsed(print_graph(*graph));
  CHECK(again->inputs[0].value->layout == graph->inputs[0].value->layout);
  CHECK(!again->inputs[1].value->layout);
}

TEST(layouts_that_do_not_parse) {
  auto fails = [](std::string_view message, const std::string& layout) {
    CHECK_THROWS(Error,
                 parsed(cat("graph \"g\" {\n  input %0 \"x\" : float32[4] @", layout, "\n  return\n}")),
                 message);
  };
  fails("a device type is wanted, got \"[\"", "[0, 1] B");
  fails("column 37: S, B or P is wanted, got \"Q\"", "cpu[0] Q");
  fails("sum, max or min is wanted, got \"mean\"", "cpu[0] P(mean)");
  fails("\"sizes\" is wanted, got \"parts\"", "cpu[0] S(0, parts=1)");
  fails("rows of equal length", "cpu[[0, 1], [2]] (B, B)");
  fails("ranks at one depth", "cpu[[0, 1], 2] (B, B)");
  fails("a rank is wanted, got \"]\"", "cpu[] B");
  fails("one an axis of cpu[[0], [1]] is wanted", "cpu[[0], [1]] B");
  fails("got 1 twice", "cpu[1, 1] B");
  fails("a unit of at least 1", "cpu[0, 1] S(0, unit=0)");
}

TEST(layouts_fit_their_tensors) {
  check_refused("input \"x\": a layout: sbp: cpu[0, 1] S(2) splits dim 2", " @cpu[0, 1] S(2)", "");
  check_refused("states 2 parts of 5 elements", " @cpu[0, 1] S(0, sizes=[3, 2])", "");
  check_refused("splits dim 1", "", "%1 = sum(%0, dim=[1]) : float32[4] @cpu[0, 1] S(1)");
}

TEST(nodes_follow_a_signature) {
  check_refused("its tensors lie on cpu[0, 1] and on cpu[1, 0]\n  %1 = exp", " @cpu[0, 1] B",
                "%1 = exp(%0) : float32[4, 6] @cpu[1, 0] B");
  check_refused("exp offers no signature P(sum) -> P(sum)", " @cpu[0, 1] P(sum)",
                "%1 = exp(%0) : float32[4, 6] @cpu[0, 1] P(sum)");
  check_refused("sum offers no signature S(0) -> B", " @cpu[0, 1] S(0)",
                "%1 = sum(%0) : float32[] @cpu[0, 1] B");
  check_refused("linear offers no signature S(0), S(0), None -> S(0)", " @cpu[0, 1] S(0)",
                "%1 = linear(%0, %0, None) : float32[4, 4] @cpu[0, 1] S(0)");
}

TEST(what_is_written_keeps_its_layout) {
  std::string text = R"(graph "g" {
  variable %0 "w" : float32[4] @cpu[0, 1] B
  variable %1 "m" : float32[4] @cpu[0, 1] B
  input %2 "g" : float32[4] @cpu[0, 1] B
  number $0 "lr"
  %3, %4 = lion_step([%0], [%2], [%1], lr=$0, beta1=0.9, beta2=0.9, weight_decay=0.0, maximize=False) : float32[4] @cpu[0, 1] B, float32[4] @cpu[0, 1] LAYOUT
  assign %0 = %3
  return
}
)";
  auto with = [&](const char* layout) { return std::string(text).replace(text.find("LAYOUT"), 6, layout); };
  verify(*parsed(with("B")));
  CHECK_THROWS(Error, verify(*parsed(with("S(0)"))), "lion_step offers no signature B, B, B -> B, S(0)");
}

TEST(a_variable_is_assigned_what_lies_as_it_does) {
  std::string text = R"(graph "g" {
  variable %0 "w" : float32[4] @cpu[0, 1] S(0)
  %1 = exp(%0) : float32[4] @cpu[0, 1] S(0)
  %2 = boxing(%1) : float32[4] @cpu[0, 1] LAYOUT
  assign %0 = %2
  return
}
)";
  auto with = [&](const char* layout) { return std::string(text).replace(text.find("LAYOUT"), 6, layout); };
  verify(*parsed(with("S(0, unit=2)")));  // the same parts
  CHECK_THROWS(Error, verify(*parsed(with("B"))), "variable \"w\" lies as cpu[0, 1] S(0), but is assigned");
}
