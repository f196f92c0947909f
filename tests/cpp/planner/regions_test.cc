// Control flow: regions become plans in the plan, and the check knows what they need.
#include "eager/dispatch.h"
#include "ir/graph_text.h"
#include "ir/verify.h"
#include "plan/check.h"
#include "plan/simulate.h"
#include "plan/text.h"
#include "planner/plan_graph.h"
#include "test.h"

using namespace tw;

namespace {

constexpr const char* kGraph = R"(graph "g" {
  input %0 "go" : bool[]
  input %1 "x" : float32[4]
  input %2 "rows" : float32[3, 4]
  %3, %4 = loop(%0, None, [%1], [%2], [%1], length=3) draw 0 body {
    input %0 "" : float32[4]
    input %1 "" : float32[4]
    input %2 "" : float32[4]
    %3 = add(%0, %1) : float32[4]
    %4 = mul(%3, %2) : float32[4]
    %5, %6 = dropout_of(%4) draw 0 : float32[4], bool[4]
    %7 = any(%6) : bool[]
    %8 = cond(%7, [%5, %4]) then {
      input %0 "" : float32[4]
      input %1 "" : float32[4]
      %2 = exp(%0) : float32[4]
      %3 = mul(%2, %1) : float32[4]
      return %3
    } else {
      input %0 "" : float32[4]
      input %1 "" : float32[4]
      return %1
    } : float32[4]
    return %7, %8, %5
    draws 1
  } : float32[4], float32[3, 4]
  %5 = exp(%3) : float32[4]
  return %5, %4
  draws 1
}
)";

std::unique_ptr<ir::Graph> graph() {
  eager::initialize();
  auto graph = ir::parse_graph(kGraph);
  ir::verify(*graph);
  return graph;
}

plan::Plan unsealed() {
  plan::Plan plan = planner::plan_graph(*graph());
  plan.seal = 0;
  for (plan::Region& region : plan.regions)
    for (plan::Plan& body : region.bodies) body.seal = 0;
  return plan;
}

}  // namespace

TEST(regions_are_printed_and_parsed_back) { CHECK_EQ(ir::print_graph(*graph()), kGraph); }

TEST(a_region_sees_only_its_inputs) {
  eager::initialize();
  std::string text = kGraph;
  text.replace(text.find("add(%0, %1)"), 11, "add(%0, %9)");
  CHECK_THROWS(Error, ir::parse_graph(text), "a value defined before");
}

TEST(regions_that_do_not_fit_are_refused) {
  eager::initialize();
  std::string text = kGraph;
  text.replace(text.find("return %7, %8, %5"), 17, "return %7, %6, %5");
  CHECK_THROWS(Error, ir::parse_graph(text), "carried value 0 must be a float32 tensor of shape [4]");
  auto broken = graph();
  broken->nodes[0]->region_draw = -1;
  CHECK_THROWS(Error, ir::verify(*broken), "its regions draw random numbers");
}

TEST(plans_of_regions_are_text_too) {
  plan::Plan sealed = planner::plan_graph(*graph());
  plan::check_plan(sealed);
  std::string text = plan::print_plan(sealed);
  plan::Plan parsed = plan::parse_plan(text);
  CHECK(parsed == sealed);
  CHECK_EQ(plan::print_plan(parsed), text);
  CHECK_EQ(sealed.regions.size(), size_t{1});
  CHECK_EQ(sealed.regions[0].bodies[0].regions.size(), size_t{1});
  CHECK(plan::has_open_draws(sealed));
  CHECK_EQ(plan::simulate(sealed, {}).stall, "");
  sealed.regions[0].bodies[0].values[0].offset_bytes += 4;
  CHECK_THROWS(Error, plan::check_plan(sealed), "changed after it was sealed");
}

TEST(a_launch_gives_its_regions_what_they_need) {
  plan::Plan good = unsealed();
  plan::check_plan(good);
  auto launch_of = [](plan::Plan& plan) -> plan::Launch& {
    for (plan::Launch& launch : plan.actors[0].launches)
      if (launch.region >= 0) return launch;
    throw std::runtime_error("no region");
  };
  plan::Plan less = good;
  less.values[launch_of(less).outputs.back()].sizes[0] -= 1;
  CHECK_THROWS(Error, plan::check_plan(less), "its last output is the arena of its plans");
  plan::Plan parts = good;
  parts.regions[0].length = 4;
  CHECK_THROWS(Error, plan::check_plan(parts), "the plan of the region takes 4 parts");
  plan::Plan carried = good;
  carried.regions[0].carried = 0;
  CHECK_THROWS(Error, plan::check_plan(carried), "the loop carries 0 values");
  plan::Plan missing = good;
  launch_of(missing).region = -1;
  CHECK_THROWS(Error, plan::check_plan(missing), "has 0 launches");
  plan::Plan undrawn = good;
  launch_of(undrawn).draw = -1;
  CHECK_THROWS(Error, plan::check_plan(undrawn), "it has no draw");
  plan::Plan inside = good;
  inside.regions[0].bodies[0].actors[0].launches.clear();
  inside.regions[0].bodies[0].actors[0].commit = -1;
  CHECK_THROWS(Error, plan::check_plan(inside), "region 0 has 0 launches");
}

namespace {

// The parts of a batch of 6: a dropout of their rows, and a sum that is carried.
constexpr const char* kParts = R"(graph "g" {
  input %0 "x" : float32[3, 2, 4]
  variable %1 "sum" : float32[2, 4]
  %2, %3 = loop(None, None, [%1], [%0], [], length=3, parts=True) draw 0 body {
    input %0 "" : float32[2, 4]
    input %1 "" : float32[2, 4]
    %2, %3 = dropout_of(%1, _part=[0.0, 0.0, 6.0, 4.0]) draw 0 : float32[2, 4], bool[2, 4]
    %4, %5 = dropout_of(%2) draw 1 : float32[2, 4], bool[2, 4]
    %6 = add(%0, %4) : float32[2, 4]
    return %6, %3
    draws 2
  } : float32[2, 4], bool[3, 2, 4]
  %4, %5 = dropout_of(%2) draw 2 : float32[2, 4], bool[2, 4]
  assign %1 = %2
  return %3, %4
  draws 3
}
)";

}  // namespace

TEST(parts_of_a_batch_take_their_draws_once) {
  eager::initialize();
  auto graph = ir::parse_graph(kParts);
  ir::verify(*graph);
  CHECK_EQ(ir::print_graph(*graph), kParts);
  plan::Plan plan = planner::plan_graph(*graph);
  CHECK(plan.regions[0].parts == 1 && plan.draws == 3 && !plan::has_open_draws(plan));
  CHECK(plan::parse_plan(plan::print_plan(plan)) == plan);

  std::string text = kParts;
  text.replace(text.find("draw 2"), 6, "draw 1");
  CHECK_THROWS(Error, ir::verify(*ir::parse_graph(text)), "draw 1 serves another node too");
  text = kParts;
  text.replace(text.find("parts=True"), 10, "reverse=True, parts=True");
  CHECK_THROWS(Error, ir::parse_graph(text), "over the parts of a batch");
}

TEST(plans_of_parts_that_do_not_fit_are_refused) {
  eager::initialize();
  auto graph = ir::parse_graph(kParts);
  auto refused = [&](auto change, const char* reason) {
    plan::Plan plan = planner::plan_graph(*graph);
    plan.seal = plan.regions[0].bodies[0].seal = 0;
    change(plan);
    CHECK_THROWS(Error, plan::check_plan(plan), reason);
  };
  refused([](plan::Plan& plan) { plan.regions[0].reverse = 1; }, "over the parts of a batch");
  refused([](plan::Plan& plan) { plan.regions[0].parts = 2; }, "over the parts of a batch");
  refused([](plan::Plan& plan) { plan.actors[0].launches[0].draw = 2; }, "takes 2 draws from 2 on, of 3");
  refused([](plan::Plan& plan) { plan.regions[0].length = 4; }, "4 parts");
}
