// The steps in flight: what each was given, how far it is, and how it ended.
#pragma once

#include <exception>
#include <memory>
#include <mutex>
#include <string>

#include "runtime/bindings.h"
#include "runtime/futex.h"

namespace tw::runtime {

// What stopped one or more steps; thrown to at least one caller.
struct Failure {
  explicit Failure(std::exception_ptr error) : error(std::move(error)) {}
  std::exception_ptr error;
  std::atomic<bool> seen{false};
};

// What has stopped a step, as other processes hear of it: with the rank, unless it comes from one that has
// said so already.
std::string reason_of(const std::exception_ptr& cause);

// One place for a step; step s uses place s % count.
struct Step {
  StepBindings bindings;
  std::atomic<int> remaining{0};       // actors that have not ended their firings
  std::atomic<bool> touched{false};    // variables may have been written to
  std::atomic<uint32_t> state{kDone};  // a State
  std::shared_ptr<Failure> failure;    // set before kDone
  int64_t number = -1;

  enum State : uint32_t { kRuns, kRunsAwaited, kDone };
  bool done() const { return state.load(std::memory_order_acquire) == kDone; }
  void finish() {
    if (state.exchange(kDone, std::memory_order_acq_rel) == kRunsAwaited) futex_wake_all(state);
  }
  // Blocks until it is done; looks `spins` times first.
  void wait(int spins) {
    for (int i = 0; i < spins && !done(); i++) cpu_pause();
    for (;;) {
      uint32_t now = state.load(std::memory_order_acquire);
      if (now == kDone) return;
      if (now == kRuns && !state.compare_exchange_weak(now, kRunsAwaited)) continue;
      futex_wait(state, kRunsAwaited);
    }
  }
};

class StepRing {
 public:
  explicit StepRing(int count) : steps_(count) {}

  // Guards all members of the steps but the atomic ones and, while they run, their bindings.
  std::mutex mutex;

  Step& at(int64_t number) { return steps_[number % steps_.size()]; }
  std::vector<Step>& all() { return steps_; }
  size_t size() const { return steps_.size(); }

  // Blocks until the step is done; throws its failure. When another step has its place by now, the start of
  // that one has thrown the failure.
  void wait(int64_t number, int spins);
  bool done(int64_t number);
  bool touched(int64_t number);
  // With the mutex held: throws the failure of the step that had the place, unless somebody has seen it.
  static void throw_news(const Step& step);

 private:
  std::vector<Step> steps_;
};

}  // namespace tw::runtime
