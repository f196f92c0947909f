// Requests of groups among processes.
#pragma once

#include <atomic>
#include <string>

#include "base/clock.h"
#include "base/error.h"
#include "comm/request.h"

namespace tw::comm {

class Pending;

// What a pending request asks of its group.
class PendingOwner {
 public:
  virtual bool progress() = 0;                                               // without waiting
  virtual void look_at_peers() = 0;                                          // who has died or given up
  virtual bool sleep_until(const Pending& request, int64_t timeout_ms) = 0;  // false: the time is over
  virtual void time_out(const Pending& request, int64_t timeout_ms) = 0;     // fails the group
  virtual int64_t default_timeout_ms() const = 0;

 protected:
  ~PendingOwner() = default;
};

class Pending : public Request {
 public:
  // Groups among processes live as long as the process.
  explicit Pending(PendingOwner& owner) : owner_(owner), posted_(now_ns()), looked_(posted_) {}

  bool over() const { return state_.load(std::memory_order_acquire) != kWaiting; }
  void set_done() { state_.store(kDone, std::memory_order_release); }
  void set_failed(const std::string& failure) {
    failure_ = failure;
    state_.store(kFailed, std::memory_order_release);
  }

  bool test() override;
  void wait(int64_t timeout_ms) override;

 private:
  bool result() const {
    int state = state_.load(std::memory_order_acquire);
    TW_CHECK(state != kFailed, kComm, failure_);
    return state == kDone;
  }

  enum State : int { kWaiting, kDone, kFailed };
  PendingOwner& owner_;
  std::atomic<int> state_{kWaiting};
  std::string failure_;  // before the state says so
  int64_t posted_;
  std::atomic<int64_t> looked_;
};

}  // namespace tw::comm
