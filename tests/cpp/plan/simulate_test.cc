#include "plan/simulate.h"

#include "plan/check.h"
#include "plan/samples.h"
#include "test.h"

namespace tw::test {
namespace {

using plan::simulate;

// Both stages have two launches of one second.
TEST(two_stages_overlap_with_two_slots) {
  auto seconds = [](int credit, int in_flight) {
    plan::Timeline line =
        simulate(pipeline_plan(credit), {.steps = 10, .steps_in_flight = in_flight, .seconds = {}});
    CHECK_EQ(line.steps_done, 10);
    CHECK_EQ(line.stall, "");
    CHECK_EQ(line.firings.size(), 20u);
    return line.seconds;
  };
  CHECK_EQ(seconds(2, 2), 22);
  CHECK_EQ(seconds(2, 1), 40);
  CHECK_EQ(seconds(1, 2), 40);
}

TEST(durations_are_those_that_are_given) {
  auto seconds = [](int actor, int launch, int64_t firing) {
    return actor == 1 ? 0.5 * launch : 1.0 + firing;
  };
  plan::Timeline line = simulate(micro_plan(), {.steps = 1, .steps_in_flight = 1, .seconds = seconds});
  CHECK_EQ(line.firings.back().actor, 2);
  // first:  0-2 2-6 7-13 13-21, each waiting for one of two slots; second: 2-7 7-11.5 13-17.5 21-28; update:
  // 28-29
  CHECK_EQ(line.seconds, 29);
  CHECK_EQ(line.firings[4].begin, 7);
}

TEST(a_plan_that_deadlocks_stalls_and_says_why) {
  plan::Plan plan = micro_plan();
  plan.registers[2].initial = 0;
  plan::Timeline line = simulate(plan, {.steps = 2, .steps_in_flight = 2, .seconds = {}});
  CHECK_EQ(line.steps_done, 0);
  CHECK_EQ(
      line.stall,
      "'first' waits for data in 'go' from 'update'; 'second' waits for data in 'h' from 'first'; 'update' "
      "waits for data in 'sum' from 'second'");
}

TEST(host_inputs_run_ahead) {
  plan::Timeline line = simulate(host_plan(), {.steps = 6, .steps_in_flight = 1, .seconds = {}});
  CHECK_EQ(line.steps_done, 6);
  // load 1, step 2, show 1: the next batch is there when the step begins
  CHECK_EQ(line.seconds, 1 + 6 * 3);
}

}  // namespace
}  // namespace tw::test
