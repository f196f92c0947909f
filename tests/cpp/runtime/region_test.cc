// Launches of control flow that are stopped while they run.
#include <unistd.h>

#include <atomic>

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

}  // namespace tw::test
