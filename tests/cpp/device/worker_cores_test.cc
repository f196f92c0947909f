#include "device/cpu/worker_cores.h"

#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "device/cpu/limits.h"
#include "test.h"

namespace tw::device {

namespace {

cpu_set_t affinity() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  return set;
}

int first_of(const cpu_set_t& set) {
  int core = 0;
  while (!CPU_ISSET(core, &set)) core++;
  return core;
}

void stay_on(int core) {
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(core, &only);
  sched_setaffinity(0, sizeof only, &only);
}

// A thread that sleeps though it is allowed to run anywhere, and says where it woke.
struct Sleeper {
  explicit Sleeper(WorkerCores& cores) {
    thread = std::thread([this, &cores] {
      cpu_set_t anywhere = affinity();
      cores.woken();
      cores.sleeps();
      go_on(1);
      stage.wait(1);
      woke_on = sched_getcpu();
      cores.woken();
      cpu_set_t now = affinity();
      allowed_anywhere = CPU_EQUAL(&now, &anywhere);
    });
    stage.wait(0);
  }
  void go_on(int next) {
    stage = next;
    stage.notify_one();
  }
  void wake() {
    go_on(2);
    thread.join();
  }

  std::atomic<int> stage{0};
  int woke_on = -1;
  bool allowed_anywhere = false;
  std::thread thread;
};

}  // namespace

TEST(workers_wake_on_other_cores_than_the_callers) {
  if (usable_cores() < 2) return;  // there is no other
  cpu_set_t before = affinity();
  for (int repeat = 0; repeat < 20; repeat++) {
    for (int core = 0; core < CPU_SETSIZE; core++) {
      if (!CPU_ISSET(core, &before)) continue;
      WorkerCores cores;
      cores.make_room();  // from wherever this runs
      Sleeper sleeper(cores);
      stay_on(core);
      cores.make_room();
      sleeper.wake();
      sched_setaffinity(0, sizeof before, &before);
      CHECK(sleeper.woke_on != core);
      CHECK(sleeper.allowed_anywhere);
    }
  }
}

TEST(a_worker_with_one_core_keeps_it) {
  cpu_set_t before = affinity();
  stay_on(first_of(before));  // threads inherit it
  WorkerCores cores;
  cores.make_room();
  Sleeper sleeper(cores);
  sleeper.wake();
  sched_setaffinity(0, sizeof before, &before);
  CHECK(sleeper.allowed_anywhere);
}

TEST(workers_and_callers_may_meet_at_any_moment) {
  cpu_set_t before = affinity();
  WorkerCores cores;
  std::atomic<bool> stop{false};
  std::thread worker([&] {
    cores.woken();
    while (!stop) {
      cores.sleeps();
      cores.woken();
    }
  });
  auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
  for (int core = 0; std::chrono::steady_clock::now() < end; core = (core + 1) % 2) {
    if (CPU_ISSET(core, &before)) stay_on(core);
    cores.make_room();
  }
  stop = true;
  worker.join();
  sched_setaffinity(0, sizeof before, &before);
}

}  // namespace tw::device
