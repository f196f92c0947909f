// What runs while the callers go on: steps of asynchronous programs, and the calls of the host that follow
// them. Each queue is a stream with a thread, which does its work in the order in which it was given.
//
// Work that fails takes with it what was given after it and has not run: it would have gone on from a state
// that never came to be. The failure is thrown once, by whoever waits or gives work next, and each time that
// a result of such work is read. What is given after that runs.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "eager/storage.h"
#include "runtime/steps.h"

namespace tw::session {

class WorkQueue;

class QueuedWork : public eager::Work {
 public:
  void wait() final;
  bool done() const final { return done_.load(std::memory_order_acquire); }
  void check(bool result) final;
  bool failed() const { return failure_ != nullptr; }  // once it is done

 protected:
  virtual void run() = 0;
  // In its place, where work before it has failed.
  virtual void abandon(const std::exception_ptr& cause) { static_cast<void>(cause); }
  // Lets go what it needed to run. Called by a thread that gives work or waits, after the end.
  virtual void release() = 0;
  // Of all works of one owner.
  virtual const void* owner() const { return nullptr; }

 private:
  friend class WorkQueue;
  WorkQueue* queue_ = nullptr;
  std::atomic<bool> done_{false};
  std::shared_ptr<runtime::Failure> failure_;  // set before done_
};

class WorkQueue {
 public:
  static WorkQueue& steps();
  static WorkQueue& host();

  // Blocks while `limit` works or more are not done. Throws a failure that nobody has been told of; the work
  // is not taken then.
  void start(const Ref<QueuedWork>& work, int limit);
  // Blocks until all is done; at once where the work itself asks. Throws a failure that nobody has been told
  // of.
  void wait_all();
  // The same, without a word of failures.
  void drain();
  // The same for the works of one owner.
  void wait_for(const void* owner);
  // What was given last; null where nothing was.
  Ref<QueuedWork> last();
  // Whether this thread is the queue's.
  bool is_current() const;

  // In the child after a fork, before which all was done: the threads are the parent's.
  static void forget_threads();

 private:
  friend class QueuedWork;
  explicit WorkQueue(const char* name) : name_(name) {}
  template <class Condition>
  void wait_until(const Condition& condition);
  void run();
  void end(size_t count);
  void bury();
  void tell_failure(std::unique_lock<std::mutex>& lock);

  const char* const name_;  // of the thread, which lives as long as the process
  std::mutex mutex_;
  std::condition_variable begin_, end_;
  std::deque<Ref<QueuedWork>> works_;          // the first one is running
  std::shared_ptr<runtime::Failure> failure_;  // the first one that may not have been told
  // What has ended: its memory goes on the caller's thread, which has allocated it.
  std::vector<Ref<QueuedWork>> ended_;
  Ref<QueuedWork> last_;
  bool has_thread_ = false;

  static WorkQueue* steps_;
  static WorkQueue* host_;
};

}  // namespace tw::session
