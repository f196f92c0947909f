#include "comm/pending.h"

#include <algorithm>

#include "comm/device_group.h"

namespace tw::comm {

namespace {

constexpr int64_t kLookNs = 100'000'000;
constexpr int64_t kNapMs = 200;  // between two looks for an interrupt

std::atomic<void (*)()> g_interrupt_check{nullptr};

}  // namespace

bool Pending::test() {
  if (over()) return result();
  owner_.progress();
  if (over()) return result();
  int64_t now = now_ns();
  if (now - looked_.load(std::memory_order_relaxed) > kLookNs) {
    looked_.store(now, std::memory_order_relaxed);
    owner_.look_at_peers();
    int64_t timeout_ms = owner_.default_timeout_ms();
    if (!over() && now - posted_ > timeout_ms * 1'000'000) owner_.time_out(*this, timeout_ms);
  }
  return result();
}

void Pending::wait(int64_t timeout_ms) {
  if (timeout_ms == kGroupTimeout) timeout_ms = owner_.default_timeout_ms();
  for (int64_t left_ms = timeout_ms; !over(); left_ms -= kNapMs) {
    if (owner_.sleep_until(*this, std::min(left_ms, kNapMs))) break;
    if (left_ms <= kNapMs) {
      owner_.time_out(*this, timeout_ms);
      break;
    }
    check_interrupt();
  }
  result();
}

void check_interrupt() {
  if (auto check = g_interrupt_check.load(std::memory_order_acquire)) check();
}

void set_interrupt_check(void (*check)()) { g_interrupt_check.store(check, std::memory_order_release); }

}  // namespace tw::comm
