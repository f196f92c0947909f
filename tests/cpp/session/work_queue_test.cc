// Queues of work, and storages that wait for it: order, failures, many threads.
#include "session/work_queue.h"

#include <functional>
#include <thread>

#include "base/error.h"
#include "test.h"

using namespace tw;
using namespace tw::session;

namespace {

class Job final : public QueuedWork {
 public:
  explicit Job(std::function<void()> body) : body_(std::move(body)) {}

 protected:
  void run() override { body_(); }
  void release() override { body_ = nullptr; }
  const void* owner() const override { return &body_; }

 private:
  std::function<void()> body_;
};

Ref<QueuedWork> job(std::function<void()> body) { return Ref<QueuedWork>(new Job(std::move(body))); }

void fail() { TW_FAIL(kValue, "fail: on purpose"); }

Ref<eager::Storage> storage() { return make_ref<eager::Storage>(device::Device{}, sizeof(int)); }

int& value(const Ref<eager::Storage>& at) { return *static_cast<int*>(at->data_for_later()); }

void start(const Ref<QueuedWork>& work) { WorkQueue::steps().start(work, 4); }

}  // namespace

TEST(work_runs_in_order_and_storages_wait_for_it) {
  Ref<eager::Storage> state = storage();
  value(state) = 0;
  for (int i = 0; i < 500; i++) {
    Ref<QueuedWork> work = job([state, i] { value(state) = value(state) == i ? i + 1 : -1; });
    start(work);
    eager::Storage* used[] = {state.get()};
    eager::Storage::use(used, work, i % 2);
    if (i % 50 == 0) CHECK_EQ(*static_cast<int*>(state->data()), i + 1);
  }
  CHECK_EQ(*static_cast<int*>(state->data()), 500);
}

TEST(what_work_kept_goes_with_the_next_call) {
  auto kept = std::make_shared<int>(0);
  start(job([kept] {}));
  WorkQueue::steps().wait_all();
  CHECK_EQ(kept.use_count(), 1);
}

TEST(a_failure_is_told_once_and_takes_what_follows_with_it) {
  int runs = 0;
  std::mutex gate;
  gate.lock();
  start(job([&] { gate.lock(), gate.unlock(); }));
  Ref<QueuedWork> bad = job(fail), after = job([&] { runs++; });
  start(bad);
  start(after);
  gate.unlock();
  CHECK_THROWS(Error, WorkQueue::steps().wait_all(), "on purpose");
  WorkQueue::steps().wait_all();
  CHECK(bad->failed() && after->failed() && runs == 0);
  start(job([&] { runs++; }));
  WorkQueue::steps().wait_all();
  CHECK_EQ(runs, 1);
}

TEST(the_next_start_tells_a_failure_and_the_one_after_it_works) {
  int runs = 0;
  start(job(fail));
  WorkQueue::steps().drain();
  CHECK_THROWS(Error, start(job([&] { runs++; })), "on purpose");
  start(job([&] { runs++; }));
  WorkQueue::steps().wait_all();
  CHECK_EQ(runs, 1);
}

TEST(results_of_failed_work_never_read_and_other_memory_does_once_it_is_told) {
  Ref<eager::Storage> result = storage(), variable = storage();
  Ref<QueuedWork> work = job(fail);
  start(work);
  eager::Storage *made[] = {result.get()}, *used[] = {variable.get()};
  eager::Storage::use(made, work, true);
  eager::Storage::use(used, work, false);
  CHECK_THROWS(Error, variable->data(), "on purpose");
  CHECK(variable->data() != nullptr);
  for (int i = 0; i < 2; i++) CHECK_THROWS(Error, result->data(), "on purpose");
  CHECK_THROWS(Error, result->data_for_later(), "on purpose");
  WorkQueue::steps().wait_all();  // everybody knows
}

TEST(many_threads_start_and_wait) {
  std::atomic<int> runs{0}, wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; t++)
    threads.emplace_back([&] {
      for (int i = 0; i < 100; i++) {
        Ref<eager::Storage> result = storage();
        Ref<QueuedWork> work = job([&runs, result, i] { runs++, value(result) = i; });
        WorkQueue::steps().start(work, 2);
        eager::Storage* made[] = {result.get()};
        eager::Storage::use(made, work, true);
        wrong += *static_cast<int*>(result->data()) != i;
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK_EQ(runs, 400);
  CHECK_EQ(wrong, 0);
}

TEST(work_that_waits_for_its_own_queue_does_not_hang) {
  bool here = false;
  WorkQueue::host().start(job([&] {
                            here = WorkQueue::host().is_current() && !WorkQueue::steps().is_current();
                            WorkQueue::host().wait_all();
                          }),
                          1);
  WorkQueue::host().wait_all();
  CHECK(here && !WorkQueue::host().is_current());
}
