// Messages from many threads to one, which may sleep until one comes.
#pragma once

#include <sched.h>

#include <algorithm>
#include <bit>
#include <memory>

#include "comm/progress.h"
#include "runtime/futex.h"

namespace tw::runtime {

// A ring of words. Senders must see to it that no more than `capacity` messages are ever waiting: then a
// place is never taken before it was read, and neither side checks for that. Each word holds a message and
// the lap it was written in, so the reader never writes to the ring.
//
// A sender stores its word and then looks whether the reader sleeps; the reader says that it sleeps and then
// looks at the ring once more. All four are sequentially consistent: one of the two sees the other, and no
// wake-up is lost.
class Mailbox {
 public:
  explicit Mailbox(size_t capacity)
      : mask_(std::bit_ceil(std::max(capacity, kLine)) - 1), lines_(new Line[(mask_ + 1) / kLine]()) {}

  // Any thread.
  void push(uint32_t message) {
    uint64_t at = tail_.fetch_add(1, std::memory_order_relaxed);
    place(at).store(lap(at) << 32 | message, std::memory_order_seq_cst);
    if (asleep_.load(std::memory_order_seq_cst) && asleep_.exchange(0)) futex_wake_one(asleep_);
    if (rings_) comm::wake_progress();
  }

  // The owner only.
  bool pop(uint32_t* message) {
    uint64_t word = place(head_).load(std::memory_order_seq_cst);
    if (word >> 32 != lap(head_)) return false;
    *message = static_cast<uint32_t>(word);
    head_++;
    return true;
  }
  // The owner only: blocks until there is a message. Looks `spins` times first, then lets others run a few
  // times.
  void wait(int spins) {
    for (int i = 0; i < spins; i++) {
      if (!empty()) return;
      cpu_pause();
    }
    for (int i = 0; i < (spins ? 4 : 0); i++) {
      if (!empty()) return;
      sched_yield();
    }
    while (empty()) {
      asleep_.store(1, std::memory_order_seq_cst);
      if (!empty()) break;
      futex_wait(asleep_, 1);
    }
    asleep_.store(0, std::memory_order_relaxed);
  }

  // The owner only, between two pops.
  bool empty() const { return place(head_).load(std::memory_order_seq_cst) >> 32 != lap(head_); }
  // Before anything is pushed: the owner also sleeps in comm::progress_until.
  void ring_progress() { rings_ = true; }

 private:
  // 32 bits of which lap a position belongs to; never 0, which an untouched word has.
  uint64_t lap(uint64_t at) const { return static_cast<uint32_t>(at / (mask_ + 1)) | uint64_t{1} << 31; }

  std::atomic<uint64_t>& place(uint64_t at) const {
    size_t i = at & mask_;
    return lines_[i / kLine].words[i % kLine];
  }

  // Cache lines that hold nothing else: a neighbour that is written to would slow down who looks for
  // messages.
  static constexpr size_t kLine = 8;
  struct alignas(64) Line {
    std::atomic<uint64_t> words[kLine];
  };

  const size_t mask_;
  bool rings_ = false;
  std::unique_ptr<Line[]> lines_;
  alignas(64) std::atomic<uint64_t> tail_{0};
  alignas(64) uint64_t head_ = 0;
  alignas(64) std::atomic<uint32_t> asleep_{0};  // apart from head_, which changes with every message
};

}  // namespace tw::runtime
