#include "runtime/mailbox.h"

#include <thread>
#include <vector>

#include "test.h"

namespace tw::test {
namespace {

using runtime::Mailbox;

TEST(messages_arrive_in_order_over_many_laps) {
  Mailbox box(3);
  uint32_t next = 0, message = 0;
  CHECK(!box.pop(&message));
  for (int lap = 0; lap < 100; lap++) {
    for (uint32_t i = 0; i < 4; i++) box.push(4 * lap + i);
    while (box.pop(&message)) CHECK_EQ(message, next++);
  }
  CHECK_EQ(next, 400u);
}

// Each sender waits until its message was read, so the ring is never too full; the reader sleeps often.
TEST(no_message_and_no_wake_up_is_lost) {
  constexpr int kSenders = 3, kMessages = 20000;
  for (int spins : {0, 20}) {
    Mailbox box(kSenders);
    std::atomic<uint32_t> seen[kSenders] = {};
    std::vector<std::thread> senders;
    for (int s = 0; s < kSenders; s++)
      senders.emplace_back([&, s] {
        for (uint32_t i = 1; i <= kMessages; i++) {
          box.push(static_cast<uint32_t>(s));
          while (seen[s].load(std::memory_order_acquire) < i) sched_yield();
        }
      });
    for (int got = 0; got < kSenders * kMessages;) {
      uint32_t message;
      box.wait(spins);
      for (; box.pop(&message); got++) seen[message].fetch_add(1, std::memory_order_release);
    }
    for (std::thread& sender : senders) sender.join();
    for (auto& count : seen) CHECK_EQ(count.load(), static_cast<uint32_t>(kMessages));
  }
}

}  // namespace
}  // namespace tw::test
