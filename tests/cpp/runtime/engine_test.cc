// Plans of several actors: results, overlap, several steps in flight, host streams, failures, destruction.
#include "runtime/engine.h"

#include <condition_variable>
#include <thread>

#include "device/backend.h"
#include "plan/samples.h"
#include "runtime/executable.h"
#include "runtime/kernels.h"
#include "runtime/memory.h"
#include "test.h"

namespace tw::test {
namespace {

using runtime::Executable;
using runtime::Options;
using runtime::Run;

TEST(two_stages_give_what_the_kernels_say) {
  for (int credit : {1, 2, 3}) {
    TestSource source;
    Executable executable(pipeline_plan(credit), source);
    RunMemory memory(executable.plan());
    memory.input(0) = {1, 2, 3, 4};
    for (int i = 0; i < 50; i++) {
      memory.input(0)[0] = static_cast<float>(i);
      executable.run(memory.bindings());
      CHECK_EQ(memory.output(0)[0], 4 * i + 4);  // h = 2x + 1; (h + 2) + h
      CHECK_EQ(memory.output(0)[3], 20);
    }
  }
}

TEST(many_steps_in_flight_keep_their_own_bindings) {
  for (int workers : {1, 2, 4}) {
    TestSource source;
    Executable executable(pipeline_plan(2), source, {.steps_in_flight = 3, .workers = workers});
    CHECK_EQ(executable.thread_count(), workers == 1 ? 0 : 2);
    std::vector<RunMemory> memory;
    std::vector<Run> runs;
    for (int i = 0; i < 100; i++) memory.emplace_back(executable.plan());
    for (int i = 0; i < 100; i++) {
      memory[i].input(0) = {static_cast<float>(i), 0, 0, 0};
      runs.push_back(executable.start(memory[i].bindings()));
    }
    for (int i = 0; i < 100; i++) {
      runs[i].wait();
      CHECK(runs[i].done());
      CHECK_EQ(memory[i].output(0)[0], 4 * i + 4);
    }
  }
}

// Four parts of x through two stages; the variable gathers the sums of the parts' results step by step.
TEST(micro_batches_sums_over_firings_and_variables_in_order) {
  for (int workers : {1, 2}) {
    TestSource source;
    Executable executable(micro_plan(), source, {.steps_in_flight = 2, .workers = workers});
    RunMemory memory(executable.plan());
    memory.input(0) = {1, 2, 3, 4, 5, 6, 7, 8};
    double w[2] = {0, 0};
    for (int step = 0; step < 20; step++) {
      memory.first_draw = 8 * step;
      executable.run(memory.bindings());
      double total[2] = {0, 0};
      for (int part = 0; part < 4; part++)
        for (int i = 0; i < 2; i++) {
          double result = memory.input(0)[2 * part + i] + w[i] + (8 * step + 1 + 2 * part) * 10 + i;
          CHECK_EQ(memory.output(0)[2 * part + i], static_cast<float>(result));
          total[i] += static_cast<float>(result);
        }
      for (int i = 0; i < 2; i++) {
        CHECK_EQ(memory.output(1)[i], static_cast<float>(total[i]));
        w[i] += total[i];
        CHECK_EQ(memory.variable(0)[i], static_cast<float>(w[i]));
        w[i] = memory.variable(0)[i];
      }
      if (w[0] > 1e5) memory.variable(0) = {0, 0}, w[0] = w[1] = 0;
    }
  }
}

// Makes both stages wait for each other: they can only get past it when they run at the same time.
struct Meeting {
  std::mutex mutex;
  std::condition_variable changed;
  int waiting = 0, met = 0;
  bool meet(int milliseconds) {
    std::unique_lock lock(mutex);
    int before = met;
    if (++waiting == 2) {
      waiting = 0;
      met++;
      changed.notify_all();
      return true;
    }
    if (changed.wait_for(lock, std::chrono::milliseconds(milliseconds), [&] { return met != before; }))
      return true;
    waiting--;
    return false;
  }
};

int meetings(int credit) {
  static Meeting* meeting;
  Meeting current;
  meeting = &current;
  static int milliseconds;
  milliseconds = credit == 1 ? 20 : 10000;
  TestSource source;
  source.hook = [](void*) { meeting->meet(milliseconds); };
  Executable executable(pipeline_plan(credit), source, {.steps_in_flight = 4, .workers = 2});
  std::vector<RunMemory> memory;
  for (int i = 0; i < 6; i++) memory.emplace_back(executable.plan());
  // The first firing of the first stage and the last of the second are alone.
  std::thread guest([&] { meeting->meet(10000); });
  std::vector<Run> runs;
  for (auto& m : memory) runs.push_back(executable.start(m.bindings()));
  guest.join();
  if (credit > 1) {
    for (bool alone = false; !alone; sched_yield()) {
      std::lock_guard lock(current.mutex);
      alone = current.met == 6;
    }
    current.meet(10000);
  }
  for (Run& run : runs) run.wait();
  return current.met;
}

TEST(two_slots_let_two_stages_overlap_and_one_does_not) {
  CHECK_EQ(meetings(2), 7);  // with the guest, five times with each other, with the guest
  CHECK_EQ(meetings(1), 1);  // with the guest
}

struct LoadKernel final : runtime::LaunchKernel {
  struct Attrs {
    std::mutex mutex;
    std::condition_variable changed;
    int next = 0, end = 1 << 30, rewound = 0;
    bool block = false, cancelled = false;
  };
  explicit LoadKernel(Attrs& shared) : shared(shared) {
    attributes = &shared;
    kernel = [](KernelContext& c) {
      auto& a = *const_cast<Attrs*>(&c.attrs<Attrs>());
      std::unique_lock lock(a.mutex);
      a.changed.wait(lock, [&] { return !a.block || a.cancelled; });
      if (a.cancelled) throw std::runtime_error("cancelled");
      if (a.next >= a.end) throw std::out_of_range("no more data");
      for (int64_t i = 0; i < c.out().count(); i++) element(c.out(), i) = static_cast<float>(a.next);
      a.next++;
    };
  }
  void write_number(const plan::Lifted&, const Scalar&) override {}
  void cancel() override {
    std::lock_guard lock(shared.mutex);
    shared.cancelled = shared.block;
    shared.changed.notify_all();
  }
  void rewind(int64_t firings) override {
    std::lock_guard lock(shared.mutex);
    shared.rewound += static_cast<int>(firings);
    shared.next -= static_cast<int>(firings);
  }
  Attrs& shared;
};

struct HostSource final : runtime::KernelSource {
  std::unique_ptr<runtime::LaunchKernel> bind(const plan::Launch& launch) override {
    if (launch.op == "load") return std::make_unique<LoadKernel>(load);
    if (launch.op != "show") return plain.bind(launch);
    auto kernel = plain.bind(plan::Launch{.op = "hook",
                                          .attrs = "",
                                          .inputs = {},
                                          .starts = {},
                                          .outputs = {},
                                          .mutated = {},
                                          .becomes = {},
                                          .in_place = {},
                                          .lifted = {}});
    kernel->kernel = [](KernelContext& c) {
      shown.push_back(element(c.in(0), 0));
      if (shown.size() == fail_at) throw std::logic_error("the callback raised");
    };
    return kernel;
  }
  HostSource() {
    shown.clear();
    fail_at = 0;
  }
  TestSource plain;
  LoadKernel::Attrs load;
  static inline std::vector<float> shown;  // by the host call's thread; read when no step runs
  static inline size_t fail_at = 0;
};

TEST(a_host_input_reads_ahead_and_a_host_call_sees_every_step) {
  for (bool caller_works : {false, true}) {
    HostSource source;
    Executable executable(host_plan(), source, {.steps_in_flight = 2, .caller_works = caller_works});
    CHECK_EQ(executable.thread_count(), caller_works ? 2 : 3);
    RunMemory memory(executable.plan());
    CHECK_EQ(source.load.next, 0);  // nothing is read before the first step
    for (int i = 0; i < 20; i++) {
      executable.run(memory.bindings());
      CHECK_EQ(memory.output(0)[0], 2 * i);
    }
    for (int tries = 0; tries < 2000; tries++) {
      std::lock_guard lock(source.load.mutex);
      if (source.load.next == 23) break;  // three slots ahead
      sched_yield();
    }
    for (;;) {
      std::lock_guard lock(source.load.mutex);
      if (source.load.next == 23) break;
    }
    CHECK_EQ(HostSource::shown.size(), 20u);
    for (int i = 0; i < 20; i++) CHECK_EQ(HostSource::shown[i], 2 * i);
  }
}

TEST(the_end_of_data_fails_the_step_that_lacks_them) {
  for (bool caller_works : {false, true}) {
    HostSource source;
    source.load.end = 5;
    Executable executable(host_plan(), source, {.steps_in_flight = 2, .caller_works = caller_works});
    RunMemory memory(executable.plan());
    for (int i = 0; i < 5; i++) executable.run(memory.bindings());
    for (int tries = 0; tries < 2; tries++)
      CHECK_THROWS(std::out_of_range, executable.run(memory.bindings()), "no more data");
    source.load.end = 6;
    executable.run(memory.bindings());
    CHECK_EQ(memory.output(0)[0], 10);
  }
}

TEST(a_callback_that_raises_stops_the_step_and_unread_batches_come_again) {
  for (bool caller_works : {false, true}) {
    HostSource source;
    HostSource::fail_at = 4;
    Executable executable(host_plan(), source, {.steps_in_flight = 1, .caller_works = caller_works});
    RunMemory memory(executable.plan());
    for (int i = 0; i < 3; i++) executable.run(memory.bindings());
    CHECK_THROWS(std::logic_error, executable.run(memory.bindings()), "the callback raised");
    executable.run(memory.bindings());
    CHECK_EQ(memory.output(0)[0], 8);  // the fifth batch; the fourth was the failed step's
    CHECK_EQ(HostSource::shown.size(), 5u);
  }
}

TEST(destruction_cancels_an_input_that_waits_for_ever) {
  for (bool caller_works : {false, true}) {
    HostSource source;
    source.load.block = true;
    auto executable =
        std::make_unique<Executable>(host_plan(), source, Options{.caller_works = caller_works});
    RunMemory memory(executable->plan());
    executable->start(memory.bindings());
    executable.reset();
    CHECK(source.load.cancelled);
  }
}

TEST(a_failure_anywhere_stops_the_step_and_the_next_run_works) {
  for (int actor = 0; actor < 3; actor++) {
    for (size_t at = 0; at < micro_plan().actors[actor].launches.size(); at++) {
      TestSource source;
      plan::Plan plan = micro_plan();
      plan::Launch& launch = plan.actors[actor].launches[at];
      static std::atomic<int> calls;
      static device::Kernel real;
      real = source.kernels[launch.op];
      source.kernels["sometimes"] = [](KernelContext& c) {
        if (calls.fetch_add(1) == 2) fail_kernel(c);
        real(c);
      };
      launch.op = "sometimes";
      launch.module = static_cast<int>(plan.strings.size());
      plan.strings.push_back("net.1");
      calls = 0;
      Executable executable(plan, source, {.steps_in_flight = 2, .workers = 2});
      std::vector<RunMemory> memory;
      for (int i = 0; i < 8; i++) memory.emplace_back(executable.plan());
      bool touched = false;
      int failed = 0;
      for (int i = 0; i < 8; i++) {
        Run run = executable.start(memory[i].bindings());
        try {
          run.wait();
        } catch (const Error& error) {
          CHECK_EQ(std::string(error.what()), "fail: wanted a test, got one (in net.1)");
          failed++;
          touched = run.touched_variables();
        }
      }
      CHECK_EQ(failed, 1);
      CHECK_EQ(touched, actor == 2);
    }
  }
}

TEST(a_failure_ends_all_steps_in_flight_and_is_thrown_once_to_whoever_comes) {
  for (bool caller_works : {false, true}) {
    TestSource source;
    source.kernels["hook"] = fail_kernel;
    Executable executable(pipeline_plan(2), source, {.steps_in_flight = 3, .caller_works = caller_works});
    std::vector<RunMemory> memory;
    for (int i = 0; i < 8; i++) memory.emplace_back(executable.plan());
    int thrown = 0;
    for (auto& m : memory) {
      try {
        executable.start(m.bindings());
      } catch (const Error& error) {
        CHECK(std::string_view(error.what()).find("fail: wanted") == 0);
        thrown++;
      }
    }
    CHECK_GE(thrown, 1);
    CHECK_LE(thrown, 7);
  }
}

TEST(ten_thousand_steps_leave_no_memory_behind) {
  for (bool caller_works : {false, true}) {
    TestSource source;
    auto before = device::cpu_backend().memory_stats(0);
    {
      Executable executable(pipeline_plan(2), source, {.steps_in_flight = 2, .caller_works = caller_works});
      CHECK_GE(device::cpu_backend().memory_stats(0).allocated_bytes, before.allocated_bytes + 1024);
      RunMemory memory[2] = {RunMemory(executable.plan()), RunMemory(executable.plan())};
      auto during = device::cpu_backend().memory_stats(0);
      for (int i = 0; i < 10000; i++) executable.start(memory[i % 2].bindings());
      executable.run(memory[0].bindings());
      auto after = device::cpu_backend().memory_stats(0);
      CHECK_EQ(after.allocation_count, during.allocation_count);
      CHECK_EQ(after.allocated_bytes, during.allocated_bytes);
    }
    CHECK_EQ(device::cpu_backend().memory_stats(0).allocated_bytes, before.allocated_bytes);
  }
}

}  // namespace
}  // namespace tw::test
