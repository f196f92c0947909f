// Launches of control flow: stopped while they run, and with communications beside the chains of their
// bodies.
#include <unistd.h>

#include <atomic>

#include "plan/check.h"
#include "plan/samples.h"
#include "runtime/executable.h"
#include "runtime/kernels.h"
#include "runtime/memory.h"
#include "test.h"

namespace tw::test {
namespace {

constexpr int kTrips = 20'000;

// What is carried grows by x in each iteration.
plan::Plan body_plan() {
  PlanBuilder b;
  b.stream();
  b.plan.name = "body";
  int arena = b.segment(SegmentKind::kArena, 16);
  int x = b.bound(SegmentKind::kInput, {2}), total = b.bound(SegmentKind::kVariable, {2});
  int step = b.value(arena, 0, {2}), grown = b.value(b.plan.values[total].segment, 0, {2});
  plan::Actor& actor = b.actor("body");
  launch(actor, "hook", {x}, {step});
  plan::Launch& add = launch(actor, "accumulate", {total, step}, {});
  add.mutated = {0};
  add.becomes = {grown};
  actor.commit = 1;
  b.plan.lower_bound_bytes = 16;
  return b.plan;
}

// A loop on one stream, and on another one a launch that has nothing to do with it.
plan::Plan loop_plan() {
  PlanBuilder b;
  b.stream();
  b.stream();
  b.plan.name = "loop";
  int arena = b.segment(SegmentKind::kArena, 256);
  int x = b.bound(SegmentKind::kInput, {2}), out = b.bound(SegmentKind::kOutput, {2});
  int other = b.bound(SegmentKind::kOutput, {2});
  int zeros = b.value(arena, 0, {2}), loop_arena = b.value(arena, 64, {16});
  b.plan.values[loop_arena].dtype = DType::kUInt8;
  plan::Region region;
  region.kind = plan::RegionKind::kLoop;
  region.carried = 1;
  region.length = kTrips;
  region.bodies = {body_plan()};
  b.plan.regions = {region};
  plan::Actor& looping = b.actor("looping");
  launch(looping, "fill", {}, {zeros}, "0");
  launch(looping, "loop", {-1, -1, zeros, x}, {out, loop_arena}).region = 0;
  launch(b.actor("beside", 1), "beside", {x}, {other});
  return b.plan;
}

std::atomic<int> trips;
std::atomic<bool> fails;

// Three iterations of comm_plan, each on a row.
plan::Plan meeting_loop_plan() {
  PlanBuilder b;
  b.stream();
  b.plan.name = "rows";
  const int arena = b.segment(SegmentKind::kArena, 256);
  const int rows = b.bound(SegmentKind::kInput, {3, 4}), out = b.bound(SegmentKind::kOutput, {3, 4});
  const int body_arena = b.value(arena, 0, {256});
  b.plan.values[body_arena].dtype = DType::kUInt8;
  plan::Region region;
  region.kind = plan::RegionKind::kLoop;
  region.slices = 1;
  region.length = 3;
  region.meets = 1;
  region.bodies = {comm_plan()};
  b.plan.regions = {region};
  launch(b.actor("rows"), "loop", {-1, -1, rows}, {out, body_arena}).region = 0;
  return b.plan;
}

void check_rows(runtime::Executable& executable) {
  RunMemory memory(executable.plan());
  for (int i = 0; i < 12; i++) memory.input(0)[i] = static_cast<float>(i * i);
  executable.run(memory.bindings());
  for (int i = 0; i < 12; i++) CHECK_EQ(memory.output(0)[i], comm_result(static_cast<float>(i * i)));
}

}  // namespace

TEST(a_loop_ends_between_iterations_when_the_step_is_stopped) {
  TestSource source;
  source.hook = [](void*) {
    trips++;
    if (fails) usleep(100);
  };
  source.kernels["beside"] = [](KernelContext& c) {
    if (!fails) return copy_kernel(c);
    while (trips == 0) sched_yield();
    fail_kernel(c);
  };
  runtime::Executable executable(loop_plan(), source, {.workers = 2});
  RunMemory memory(executable.plan());
  memory.input(0) = {1, 2};
  for (int round = 0; round < 3; round++) {
    trips = 0;
    fails = true;
    CHECK_THROWS(Error, executable.run(memory.bindings()), "fail: wanted a test, got one");
    CHECK_LT(trips.load(), kTrips);
    trips = 0;
    fails = false;
    executable.run(memory.bindings());
    CHECK_EQ(trips.load(), kTrips);
    CHECK_EQ(memory.output(0)[1], 2.f * kTrips);
    CHECK_EQ(memory.output(1)[1], 2.f);
  }
}

// 'meeting' ends only when the chain beside it has run, in every iteration.
TEST(in_a_body_a_chain_runs_while_a_communication_is_under_way) {
  TestMeeting::Reset reset;
  static int begun, ran;
  begun = ran = 0;
  TestSource source;
  source.kernels["hook"] = [](KernelContext& c) {
    ran++;
    hook_kernel(c);
  };
  TestMeeting::may_end = [] { return ran > begun / 2 && ++begun; };  // 'another' begins when that has run
  runtime::Executable executable(meeting_loop_plan(), source);
  CHECK_EQ(executable.thread_count(), 0);
  check_rows(executable);
  CHECK_EQ(ran, 3);
  CHECK_EQ(begun, 6);
}

TEST(a_communication_of_a_body_that_fails_stops_the_step_and_the_next_one_works) {
  TestMeeting::Reset reset;
  TestSource source;
  runtime::Executable executable(meeting_loop_plan(), source);
  check_rows(executable);
  TestMeeting::fails = true;
  CHECK_THROWS(Error, check_rows(executable), "meet: the other one has gone");
  CHECK_EQ(TestMeeting::given_up, (std::vector<std::string>(2, "meet: the other one has gone")));
  TestMeeting::fails = false;
  check_rows(executable);
}

TEST(a_chain_of_a_body_that_fails_gives_its_communications_up) {
  TestMeeting::Reset reset;
  TestMeeting::may_end = [] { return false; };
  TestSource source;
  source.kernels["hook"] = fail_kernel;
  runtime::Executable executable(meeting_loop_plan(), source);
  CHECK_THROWS(Error, check_rows(executable), "fail: wanted a test, got one");
  CHECK_EQ(TestMeeting::given_up, (std::vector<std::string>(2, "rank 0: fail: wanted a test, got one")));
}

TEST(a_body_says_that_processes_meet_in_it_and_computes_on_one_stream) {
  plan::Plan plan = meeting_loop_plan();
  plan::check_plan(plan);
  plan.regions[0].meets = 0;
  CHECK_THROWS(Error, plan::check_plan(plan), "processes meet in the plan of a region, in 'meeting'");
  plan = meeting_loop_plan();
  plan::Plan& body = plan.regions[0].bodies[0];
  body.streams.push_back({});
  body.actors[2].stream = 2;
  CHECK_THROWS(Error, plan::check_plan(plan), "the chains of the plan of a region are on streams 0 and 2");
  body.actors[2].stream = 0;
  body.registers[1].segment = 0;
  body.registers[1].offset_bytes = 240;
  body.registers[1].slot_bytes = 4;
  CHECK_THROWS(Error, plan::check_plan(plan), "register 'meeting' of the plan of a region has bytes");
}

}  // namespace tw::test
