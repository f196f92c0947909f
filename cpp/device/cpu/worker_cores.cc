#include "device/cpu/worker_cores.h"

#include <unistd.h>

#include <thread>
#include <utility>

namespace tw::device {

WorkerCores::~WorkerCores() {
  for (Worker* w = workers_; w;) delete std::exchange(w, w->next);
}

WorkerCores::Worker& WorkerCores::own_worker() {
  static thread_local Worker* own = nullptr;
  if (own) return *own;
  own = new Worker{.thread = gettid(), .next = workers_.load(std::memory_order_relaxed)};
  while (!workers_.compare_exchange_weak(own->next, own, std::memory_order_acq_rel)) {
  }
  return *own;
}

// Of the worker's allowed cores all but `core`, unless that is the only one.
void WorkerCores::keep_off(Worker& worker, int core) {
  worker.narrowed = worker.allowed;
  if (core >= 0 && core < CPU_SETSIZE) CPU_CLR(core, &worker.narrowed);
  if (CPU_COUNT(&worker.narrowed) == 0) worker.narrowed = worker.allowed;
  sched_setaffinity(worker.thread, sizeof worker.narrowed, &worker.narrowed);
}

void WorkerCores::sleeps() {
  Worker& worker = own_worker();
  if (sched_getaffinity(0, sizeof worker.allowed, &worker.allowed) != 0)
    return;  // more cores than a mask holds
  keep_off(worker, caller_core_.load(std::memory_order_relaxed));
  worker.state.store(State::kAsleep, std::memory_order_release);
  asleep_.fetch_add(1, std::memory_order_relaxed);
}

void WorkerCores::woken() {
  Worker& worker = own_worker();
  State state = worker.state.load(std::memory_order_acquire);
  if (state == State::kAwake) return;
  while (state == State::kBeingMoved ||
         !worker.state.compare_exchange_weak(state, State::kAwake, std::memory_order_acq_rel)) {
    std::this_thread::yield();
    state = worker.state.load(std::memory_order_acquire);
  }
  asleep_.fetch_sub(1, std::memory_order_relaxed);
  cpu_set_t now;
  bool ours = sched_getaffinity(0, sizeof now, &now) == 0 && CPU_EQUAL(&now, &worker.narrowed);
  if (ours)
    sched_setaffinity(0, sizeof worker.allowed, &worker.allowed);  // else the user has changed it meanwhile
}

void WorkerCores::send_away(int core) {
  for (Worker* w = workers_.load(std::memory_order_acquire); w; w = w->next) {
    State asleep = State::kAsleep;
    if (!w->state.compare_exchange_strong(asleep, State::kBeingMoved, std::memory_order_acq_rel)) continue;
    keep_off(*w, core);
    w->state.store(State::kAsleep, std::memory_order_release);
  }
}

}  // namespace tw::device
