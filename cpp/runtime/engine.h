// Runs plans of several actors: workers, the steps in flight, and what happens when one fails.
//
// Each stream belongs to one worker, and a worker to one thread; host streams have a thread each. The first
// worker may be whoever waits for a step. What an actor waits for is counted by its worker alone, so nothing
// is locked between firings: a worker tells another by a message that a register holds data, or has a free
// slot. The tokens bound how many messages can be under way.
//
// Communication streams share the worker of the chains, unless chains can run while one is under way: then
// they have a worker of their own.
//
// A failure: the worker that has it tells all workers to stop. Each stops between two firings and gives up
// its communications, so that other processes hear the cause; the last puts every register back to its first
// state, ends all steps in flight with the first cause, and lets the others go on.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "runtime/steps.h"
#include "runtime/worker.h"

namespace tw::runtime {

struct EngineOptions {
  int steps_in_flight = 4;
  int workers = 0;
  bool caller_works = false;
  const std::atomic<Observer*>* observer = nullptr;
};

class Engine {
 public:
  // Both must outlive the engine.
  Engine(const plan::Plan& plan, const std::vector<std::unique_ptr<Chain>>& chains,
         const EngineOptions& options);
  ~Engine();

  int thread_count() const { return static_cast<int>(threads_.size()); }
  int64_t start(const Bindings& bindings, const BindingLayout& layout);
  void wait(int64_t step);

  StepRing steps;

 private:
  friend class Worker;
  struct EdgeState {
    plan::Edge edge;
    int data = 0, free = 0;  // `data` belongs to the consumer's worker, `free` to the producer's
  };

  void make_workers(int limit);
  void start_threads();
  void work();
  void work_until(int64_t number);
  int place_streams(int limit);
  bool overlaps() const;
  Step& place_for_next(std::unique_lock<std::mutex>& lock);

  // Called by workers.
  void actor_done(int64_t step);
  void fail(int64_t step, std::exception_ptr error, bool touched);
  void stop_here(Worker& worker);
  void reset();
  void stop_all(std::exception_ptr cause);

  const plan::Plan& plan_;
  const std::atomic<Observer*>& observer_;
  int spins_ = 0, caller_spins_ = 0;
  int counted_actors_ = 0;  // per step: all but host inputs
  std::vector<ActorState> actors_;
  std::vector<EdgeState> edges_;
  std::vector<int> worker_of_stream_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<std::unique_ptr<std::thread>> threads_;
  int chain_workers_ = 0, spinning_ = 0;  // the first ones; `spinning_` counts that of communication too
  int process_ = 0;                       // that the threads live in

  bool caller_works_ = false;  // is the first worker
  std::mutex caller_mutex_;
  std::condition_variable resumed_;
  std::atomic<int64_t> started_{0};  // steps; this and what follows is written with steps.mutex held
  bool stopping_ = false;
  int stopped_ = 0;     // workers
  uint64_t stops_ = 0;  // that are over
  std::shared_ptr<Failure> cause_;
  std::string reason_;  // the cause as other processes hear it; empty where no step was in flight
};

}  // namespace tw::runtime
