// Keeps workers that wake up off the caller's core. Linux may wake a thread on the core of whoever wakes it,
// though others idle: on a virtual machine a core that idles counts as taken away by the host, and after all
// cores were busy none is looked for. There the worker waits behind the caller, for some 10 ms. So while a
// worker sleeps, the core of the last caller is missing from its affinity mask; awake, it may run wherever it
// was allowed to.
#pragma once

#include <sched.h>
#include <sys/types.h>

#include <atomic>

namespace tw::device {

class WorkerCores {
 public:
  WorkerCores() = default;
  ~WorkerCores();  // no worker may be left
  // A worker says so of itself, whenever it begins to wait for work or has been woken. It is one pool's for
  // life.
  void sleeps();
  void woken();

  // A caller is about to wake workers.
  void make_room() {
    int here = sched_getcpu();
    if (here == caller_core_.load(std::memory_order_relaxed)) return;
    caller_core_.store(here, std::memory_order_relaxed);
    if (asleep_.load(std::memory_order_relaxed) > 0) send_away(here);
  }

 private:
  enum class State { kAwake, kAsleep, kBeingMoved };
  struct Worker {
    pid_t thread;
    Worker* next;
    std::atomic<State> state{State::kAwake};
    cpu_set_t allowed{}, narrowed{};  // awake; asleep
  };

  Worker& own_worker();
  void send_away(int core);
  static void keep_off(Worker& worker, int core);

  std::atomic<int> caller_core_{-1}, asleep_{0};
  std::atomic<Worker*> workers_{nullptr};  // never shortened
};

}  // namespace tw::device
