// Batches read ahead: their order and number, failures, and stopping in the middle.
#include "session/reader.h"

#include <atomic>
#include <thread>

#include "base/error.h"
#include "test.h"

using namespace tw;
using session::Reader;

namespace {

Reader::Batch batch(int number) { return std::make_shared<int>(number); }
int number_of(const Reader::Batch& batch) { return *static_cast<int*>(batch.get()); }

}  // namespace

TEST(batches_come_in_order_and_no_more_are_read_than_may_lie_ready) {
  for (int ahead : {1, 2, 3, 7}) {
    std::atomic<int> read{0};
    Reader reader([&] { return batch(read++); }, ahead);
    for (int i = 0; i < 300; i++) {
      CHECK_EQ(number_of(reader.take()), i);
      CHECK_LE(read, i + 1 + ahead);
    }
    while (read < 300 + ahead) std::this_thread::yield();
  }
}

TEST(a_failure_comes_after_the_batches_before_it) {
  for (int ahead : {1, 3}) {
    int next = 0;
    Reader reader(
        [&] {
          TW_CHECK(next != 5 && next != 9, kValue, "read: torn at ", next++);
          return batch(next++);
        },
        ahead);
    for (int i = 0; i < 5; i++) CHECK_EQ(number_of(reader.take()), i);
    CHECK_THROWS(Error, reader.take(), "torn at 5");
    for (int i = 6; i < 9; i++) CHECK_EQ(number_of(reader.take()), i);  // the source may go on
    CHECK_THROWS(Error, reader.take(), "torn at 9");
  }
}

TEST(stopping_drops_what_lies_ready) {
  auto alive = std::make_shared<int>(0);
  Reader reader([&] { return alive; }, 4);
  reader.take();
  reader.stop();
  CHECK_EQ(alive.use_count(), 1);
  CHECK_THROWS(Error, reader.take(), "closed");
  CHECK_THROWS(Error, Reader([&] { return alive; }, 0), "positive");
}

TEST(readers_that_nobody_takes_from_end) {
  Reader reader([] { return batch(0); }, 2);
  Reader started([] { return batch(0); }, 2);
  started.take();
}

TEST(many_threads_take) {
  std::atomic<int> next{0}, sum{0};
  Reader reader([&] { return batch(next++); }, 3);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; t++)
    threads.emplace_back([&] {
      for (int i = 0; i < 50; i++) sum += number_of(reader.take());
    });
  for (std::thread& thread : threads) thread.join();
  CHECK_EQ(sum, 199 * 200 / 2);
}
