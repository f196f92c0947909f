#include "session/work_queue.h"

#include <pthread.h>

#include <thread>
#include <utility>

#include "eager/dispatch.h"

namespace tw::session {

namespace {
thread_local const WorkQueue* t_current = nullptr;
}

WorkQueue* WorkQueue::steps_ = new WorkQueue("tw-steps");
WorkQueue* WorkQueue::host_ = new WorkQueue("tw-host");

WorkQueue& WorkQueue::steps() { return *steps_; }
WorkQueue& WorkQueue::host() { return *host_; }
void WorkQueue::forget_threads() {
  steps_ = new WorkQueue("tw-steps");
  host_ = new WorkQueue("tw-host");
}

bool WorkQueue::is_current() const { return t_current == this; }

void QueuedWork::wait() {
  if (!done()) queue_->wait_until([this] { return done(); });
}

void QueuedWork::check(bool result) {
  if (!failure_ || (failure_->seen.exchange(true) && !result)) return;
  std::rethrow_exception(failure_->error);
}

template <class Condition>
void WorkQueue::wait_until(const Condition& condition) {
  {
    eager::Unlocked unlocked;
    std::unique_lock lock(mutex_);
    end_.wait(lock, condition);
  }
  bury();
}

// With the lock held, which it may let go to throw.
void WorkQueue::tell_failure(std::unique_lock<std::mutex>& lock) {
  std::shared_ptr<runtime::Failure> failure = std::exchange(failure_, nullptr);
  if (!failure || failure->seen.exchange(true)) return;
  lock.unlock();
  std::rethrow_exception(failure->error);
}

void WorkQueue::start(const Ref<QueuedWork>& work, int limit) {
  bury();
  std::unique_lock lock(mutex_);
  if (works_.size() >= static_cast<size_t>(limit)) {
    lock.unlock();
    wait_until([&] { return works_.size() < static_cast<size_t>(limit); });
    lock.lock();
  }
  tell_failure(lock);
  if (!has_thread_) {
    std::thread thread([this] { run(); });
    pthread_setname_np(thread.native_handle(), name_);
    thread.detach();
    has_thread_ = true;
  }
  work->queue_ = this;
  works_.push_back(work);
  last_ = work;
  begin_.notify_one();
}

Ref<QueuedWork> WorkQueue::last() {
  std::lock_guard lock(mutex_);
  return last_;
}

void WorkQueue::drain() {
  if (!is_current()) wait_until([this] { return works_.empty(); });
}

void WorkQueue::wait_all() {
  drain();
  std::unique_lock lock(mutex_);
  tell_failure(lock);
}

void WorkQueue::wait_for(const void* owner) {
  wait_until([&] {
    for (const Ref<QueuedWork>& work : works_)
      if (work->owner() == owner) return false;
    return true;
  });
}

void WorkQueue::run() {
  t_current = this;
  std::unique_lock lock(mutex_);
  for (;;) {
    begin_.wait(lock, [this] { return !works_.empty(); });
    QueuedWork& work = *works_.front();
    lock.unlock();
    try {
      work.run();
    } catch (...) {
      work.failure_ = std::make_shared<runtime::Failure>(std::current_exception());
    }
    lock.lock();
    size_t count = 1;
    if (work.failure_) {  // from here on nothing is begun before somebody has been told
      if (!failure_ || failure_->seen) failure_ = work.failure_;
      count = works_.size();
      for (const Ref<QueuedWork>& one : works_) {
        one->failure_ = work.failure_;
        if (one.get() != &work) one->abandon(work.failure_->error);
      }
    }
    end(count);
  }
}

// The first `count` works are over.
void WorkQueue::end(size_t count) {
  for (; count > 0; count--) {
    works_.front()->done_.store(true, std::memory_order_release);
    ended_.push_back(std::move(works_.front()));
    works_.pop_front();
  }
  end_.notify_all();
}

void WorkQueue::bury() {
  std::vector<Ref<QueuedWork>> ended;
  {
    std::lock_guard lock(mutex_);
    ended.swap(ended_);
  }
  for (const Ref<QueuedWork>& work : ended) work->release();
}

}  // namespace tw::session
