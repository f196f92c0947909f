// What is around a run: observers, many callers, forked processes.
#include <sys/wait.h>

#include <mutex>
#include <thread>

#include "plan/samples.h"
#include "runtime/executable.h"
#include "runtime/kernels.h"
#include "runtime/memory.h"
#include "test.h"

namespace tw::test {
namespace {

using runtime::Executable;

struct Recorder final : runtime::Observer {
  struct Interval {
    int64_t begin = 0, end = 0;
  };
  void fired(int actor, int64_t firing, int64_t begin_ns, int64_t end_ns) override {
    std::lock_guard lock(mutex);
    firings[{actor, firing}] = {begin_ns, end_ns};
  }
  void launched(int, int64_t, int, int64_t begin_ns, int64_t end_ns) override {
    std::lock_guard lock(mutex);
    launches += end_ns >= begin_ns;
  }
  std::mutex mutex;
  std::map<std::pair<int, int64_t>, Interval> firings;
  int launches = 0;
};

TEST(firings_keep_to_the_order_of_data_and_free_slots) {
  for (int credit : {1, 2, 3}) {
    TestSource source;
    Recorder seen;
    {
      Executable executable(pipeline_plan(credit), source,
                            {.steps_in_flight = 4, .workers = 2, .observer = &seen});
      RunMemory memory[4] = {RunMemory(executable.plan()), RunMemory(executable.plan()),
                             RunMemory(executable.plan()), RunMemory(executable.plan())};
      for (int i = 0; i < 40; i++) executable.start(memory[i % 4].bindings());
      executable.run(memory[0].bindings());
    }
    CHECK_EQ(seen.firings.size(), 82u);
    CHECK_EQ(seen.launches, 2 * 82);
    for (int64_t f = 0; f < 41; f++) {
      CHECK_LE((seen.firings[{0, f}].end), (seen.firings[{1, f}].begin));
      if (f >= credit) CHECK_LE((seen.firings[{1, f - credit}].end), (seen.firings[{0, f}].begin));
    }
  }
}

TEST(a_chain_is_observed_too) {
  TestSource source;
  Recorder seen;
  Executable executable(chain_plan(), source, {.observer = &seen});
  RunMemory memory(executable.plan());
  executable.run(memory.bindings());
  CHECK_EQ(seen.launches, 6);
  CHECK_EQ(seen.firings.size(), 1u);
}

TEST(many_threads_may_run_one_executable) {
  for (bool pipeline : {false, true}) {
    TestSource source;
    Executable executable(pipeline ? pipeline_plan(2) : chain_plan(), source, {.steps_in_flight = 2});
    std::atomic<int> right{0};
    std::vector<std::thread> callers;
    for (int t = 0; t < 4; t++)
      callers.emplace_back([&, t] {
        RunMemory memory(executable.plan());
        for (int i = 0; i < 100; i++) {
          float x = static_cast<float>(t * 1000 + i);
          memory.input(0)[0] = x;
          if (!pipeline) memory.variable(0)[0] = 5;
          if (i % 2)
            executable.run(memory.bindings());
          else
            executable.start(memory.bindings()).wait();
          right += memory.output(0)[0] == (pipeline ? 4 * x + 4 : x + 5 + 20);  // 20: the draw
        }
      });
    for (std::thread& caller : callers) caller.join();
    CHECK_EQ(right.load(), 400);
  }
}

TEST(a_forked_child_runs_chains_and_is_told_that_it_has_no_workers) {
  TestSource source;
  Executable chain(chain_plan(), source);
  auto pipeline = std::make_unique<Executable>(pipeline_plan(2), source, runtime::Options{.workers = 2});
  RunMemory memory(pipeline->plan()), chain_memory(chain.plan());
  pipeline->run(memory.bindings());
  pid_t child = fork();
  if (child == 0) {
    int code = 1;
    try {
      chain.run(chain_memory.bindings());
      pipeline->run(memory.bindings());
    } catch (const Error& error) {
      bool told =
          std::string_view(error.what()).find("are in the process that was forked") != std::string_view::npos;
      pipeline.reset();
      code = told ? 0 : 2;
    }
    _exit(code);
  }
  int status = -1;
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK_EQ(WEXITSTATUS(status), 0);
  pipeline->run(memory.bindings());
}

}  // namespace
}  // namespace tw::test
