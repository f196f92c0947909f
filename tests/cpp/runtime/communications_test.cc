// Communications in plans: they end when their requests do, chains run meanwhile, and failures stop all.
#include <atomic>

#include "plan/samples.h"
#include "runtime/executable.h"
#include "runtime/kernels.h"
#include "runtime/memory.h"
#include "test.h"

namespace tw::test {
namespace {

using runtime::Executable;
using runtime::Run;

TEST(steps_give_what_the_kernels_say_on_one_thread_and_on_two) {
  for (int workers : {1, 2}) {
    TestSource source;
    Executable executable(comm_plan(), source, {.steps_in_flight = 3, .workers = workers});
    if (workers == 1) CHECK_EQ(executable.thread_count(), 0);
    std::vector<RunMemory> memory;
    std::vector<Run> runs;
    for (int i = 0; i < 100; i++) {
      memory.emplace_back(executable.plan());
      memory.back().input(0) = {static_cast<float>(i), 0, 1, 2};
    }
    for (auto& m : memory) runs.push_back(executable.start(m.bindings()));
    for (int i = 0; i < 100; i++) {
      runs[i].wait();
      CHECK_EQ(memory[i].output(0)[0], comm_result(static_cast<float>(i)));
      CHECK_EQ(memory[i].output(0)[3], comm_result(2));
    }
  }
}

// The first communication ends only when the chain beside it has run.
TEST(a_chain_runs_while_a_communication_is_under_way) {
  for (int workers : {1, 2}) {
    TestMeeting::Reset reset;
    static std::atomic<bool> ran;
    ran = false;
    TestSource source;
    source.hook = [](void*) { ran = true; };
    TestMeeting::may_end = [] { return ran.load(); };
    Executable executable(comm_plan(), source, {.workers = workers});
    RunMemory memory(executable.plan());
    memory.input(0) = {4, 0, 0, 0};
    executable.run(memory.bindings());
    CHECK_EQ(memory.output(0)[0], comm_result(4));
  }
}

TEST(a_communication_that_fails_stops_the_step_and_the_next_one_works) {
  for (int workers : {1, 2}) {
    TestMeeting::Reset reset;
    TestSource source;
    Executable executable(comm_plan(), source, {.workers = workers});
    RunMemory memory(executable.plan());
    memory.input(0) = {1, 1, 1, 1};
    executable.run(memory.bindings());
    CHECK(TestMeeting::given_up.empty());
    TestMeeting::fails = true;
    CHECK_THROWS(Error, executable.run(memory.bindings()), "meet: the other one has gone");
    // Both are told, the one that has not begun too; what comes from elsewhere keeps its words.
    CHECK_EQ(TestMeeting::given_up, (std::vector<std::string>(2, "meet: the other one has gone")));
    TestMeeting::fails = false;
    executable.run(memory.bindings());
    CHECK_EQ(memory.output(0)[1], comm_result(1));
  }
}

// While it is under way: nothing of it is looked at any more, and the other processes hear whose fault it is.
TEST(a_chain_that_fails_gives_communications_up) {
  for (int workers : {1, 2}) {
    TestMeeting::Reset reset;
    TestMeeting::may_end = [] { return false; };
    TestSource source;
    source.kernels["hook"] = fail_kernel;
    Executable executable(comm_plan(), source, {.workers = workers});
    RunMemory memory(executable.plan());
    CHECK_THROWS(Error, executable.run(memory.bindings()), "fail: wanted a test, got one");
    CHECK_EQ(TestMeeting::given_up, (std::vector<std::string>(2, "rank 0: fail: wanted a test, got one")));
  }
}

TEST(destruction_gives_up_only_what_is_in_flight) {
  TestMeeting::Reset reset;
  TestSource source;
  {
    Executable executable(comm_plan(), source, {.workers = 2});
    RunMemory memory(executable.plan());
    executable.run(memory.bindings());
  }
  CHECK(TestMeeting::given_up.empty());
  TestMeeting::may_end = [] { return false; };
  auto executable = std::make_unique<Executable>(comm_plan(), source, runtime::Options{.workers = 2});
  RunMemory memory(executable->plan());
  executable->start(memory.bindings());
  executable.reset();
  CHECK_EQ(TestMeeting::given_up.size(), 2u);
}

// Communications are reported from their beginning to their end.
TEST(observers_see_them_beside_chains) {
  TestMeeting::Reset reset;
  struct Seen final : runtime::Observer {
    void fired(int actor, int64_t, int64_t begin, int64_t end) override {
      begins[actor] = begin;
      ends[actor] = end;
    }
    std::atomic<int64_t> begins[5] = {}, ends[5] = {};
  } seen;
  static std::atomic<bool> begun, ran;
  begun = ran = false;
  TestSource source;
  source.hook = [](void*) {
    while (!begun) sched_yield();
    ran = true;
  };
  TestMeeting::may_end = [] {
    begun = true;
    return ran.load();
  };
  Executable executable(comm_plan(), source, {.workers = 2, .observer = &seen});
  RunMemory memory(executable.plan());
  executable.run(memory.bindings());
  CHECK_LE(seen.begins[1], seen.ends[2]);  // 'meeting' and 'beside'
  CHECK_LE(seen.begins[2], seen.ends[1]);
  CHECK_LE(seen.ends[1], seen.begins[3]);
}

}  // namespace
}  // namespace tw::test
