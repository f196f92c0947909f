// Plans of one chain: addresses, numbers, draws, micro-batches, errors.
#include "plan/builder.h"
#include "runtime/executable.h"
#include "runtime/kernels.h"
#include "test.h"

namespace tw::test {
namespace {

using plan::SegmentKind;
using runtime::Bindings;
using runtime::Executable;

// out = (x + w) · lr + draw;  w = w + x
plan::Plan small_plan() {
  PlanBuilder b;
  b.stream();
  int arena = b.segment(SegmentKind::kArena, 192);
  int x = b.bound(SegmentKind::kInput, {2, 2}), w = b.bound(SegmentKind::kVariable, {2, 2});
  int out = b.bound(SegmentKind::kOutput, {2, 2});
  int sum = b.value(arena, 0, {2, 2}), noise = b.value(arena, 64, {2, 2});
  int new_w = b.value(b.plan.values[w].segment, 0, {2, 2});
  b.plan.strings = {"", "net.0", "train.py:7"};
  b.plan.numbers = {"lr"};
  b.plan.draws = 3;
  plan::Actor& step = b.actor("step");
  launch(step, "add", {x, w}, {sum});
  launch(step, "draw", {}, {noise}).draw = 2;
  launch(step, "mix", {sum, noise}, {out}).lifted = {{0, -1, 0}};
  plan::Launch& update = launch(step, "accumulate", {w, x}, {});
  update.mutated = {0};
  update.becomes = {new_w};
  update.module = 1;
  update.origin = 2;
  step.commit = 3;
  return b.plan;
}

struct SmallMemory {
  float x[4] = {1, 2, 3, 4}, w[4] = {10, 20, 30, 40}, out[4] = {};
  void* inputs[1] = {x};
  void* variables[1] = {w};
  void* outputs[1] = {out};
  Scalar numbers[1] = {Scalar(2.0)};
  Bindings bindings() { return {inputs, variables, {}, outputs, numbers, 5, 100}; }
};

TEST(a_chain_runs_with_the_bindings_of_each_run) {
  TestSource source;
  Executable executable(small_plan(), source);
  SmallMemory memory;
  executable.run(memory.bindings());
  for (int i = 0; i < 4; i++) {
    CHECK_EQ(memory.out[i], 2 * (i + 1 + 10 * (i + 1)) + 5000 + 1020 + i);
    CHECK_EQ(memory.w[i], 11 * (i + 1));
  }
  SmallMemory other;
  other.numbers[0] = Scalar(int64_t{3});
  Bindings bindings = other.bindings();
  bindings.first_draw = 0;
  executable.run(bindings);
  for (int i = 0; i < 4; i++) CHECK_EQ(other.out[i], 3 * (i + 1 + 10 * (i + 1)) + 5020 + i);
  CHECK_EQ(executable.arena_bytes(), 192);
  CHECK_EQ(executable.thread_count(), 0);
}

TEST(missing_bindings_are_refused) {
  TestSource source;
  Executable executable(small_plan(), source);
  SmallMemory memory;
  Bindings bindings = memory.bindings();
  bindings.inputs = {};
  CHECK_THROWS(Error, executable.run(bindings), "the plan has 1 inputs, got 0");
  bindings = memory.bindings();
  memory.outputs[0] = nullptr;
  CHECK_THROWS(Error, executable.run(bindings), "output 0 has no memory");
  bindings = memory.bindings();
  memory.outputs[0] = memory.out;
  bindings.numbers = {};
  CHECK_THROWS(Error, executable.run(bindings), "the plan has 1 numbers, got 0");
}

TEST(an_error_names_module_and_line_and_the_next_run_works) {
  TestSource source;
  plan::Plan plan = small_plan();
  plan.actors[0].launches[3].op = "fail_once";
  static bool failed = false;
  source.kernels["fail_once"] = [](KernelContext& c) {
    if (!std::exchange(failed, true)) fail_kernel(c);
    accumulate_kernel(c);
  };
  Executable executable(plan, source);
  SmallMemory memory;
  CHECK_THROWS(Error, executable.run(memory.bindings()),
               "fail: wanted a test, got one (in net.0, at train.py:7)");
  executable.run(memory.bindings());
  CHECK_EQ(memory.w[3], 44);
}

TEST(a_started_run_keeps_its_error_until_somebody_asks) {
  TestSource source;
  plan::Plan plan = small_plan();
  plan.actors[0].launches[3].op = "fail";
  Executable executable(plan, source, {.steps_in_flight = 2});
  SmallMemory memory;
  runtime::Run first = executable.start(memory.bindings());
  executable.start(memory.bindings());
  CHECK(first.done());
  CHECK_THROWS(Error, first.wait(), "in net.0");
  CHECK(first.touched_variables());
  runtime::Run third = executable.start(memory.bindings());
  CHECK_THROWS(Error, executable.start(memory.bindings()), "in net.0");  // of the second
  CHECK_THROWS(Error, third.wait(), "in net.0");
}

// Sums the rows of a 3×2 input in three firings of two columns each.
TEST(a_batch_in_parts_advances_and_first_and_last_launches_run_once) {
  PlanBuilder b;
  b.stream();
  int arena = b.segment(SegmentKind::kArena, 64);
  int x = b.bound(SegmentKind::kInput, {3, 2}), out = b.bound(SegmentKind::kOutput, {2});
  int part = b.value(0 + 1, 0, {2}, x), sum = b.value(arena, 0, {2});
  b.plan.values[part].advance_bytes = 8;
  plan::Actor& step = b.actor("step", 0, 3);
  launch(step, "fill", {}, {sum}, "0").when = plan::When::kFirst;
  launch(step, "accumulate", {sum, part}, {}).mutated = {0};
  launch(step, "copy", {sum}, {out}).when = plan::When::kLast;
  TestSource source;
  Executable executable(b.plan, source);
  float in[6] = {1, 2, 3, 4, 5, 6}, result[2] = {};
  void* inputs[1] = {in};
  void* outputs[1] = {result};
  executable.run({inputs, {}, {}, outputs, {}});
  CHECK_EQ(result[0], 9);
  CHECK_EQ(result[1], 12);
}

}  // namespace
}  // namespace tw::test
