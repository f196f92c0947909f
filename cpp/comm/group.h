// A group of ranks that make collective calls together.
//
// A call takes the memory of all addressable members at once. All processes with members must post the same
// calls in the same order; each call tells the others its kind, dtype, counts and line, and where they differ
// it fails on every member, naming who called what. Calls of one group run one after the other; groups are
// independent of each other. Where all members are addressable a call is complete when `post` returns.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "comm/call.h"
#include "comm/request.h"
#include "comm/world.h"

namespace tw::comm {

constexpr int64_t kDefaultTimeoutMs = 30 * 60 * 1000;

// Who makes calls. Programs run beside eager mode, so that the order in which the calls of the two follow
// each other may be another one on every rank: each has groups of its own.
enum class Caller : uint8_t { kEager, kProgram };

class Group : public RefCounted {
 public:
  // A fresh group of these ranks in this order; with members elsewhere it lives as long as the process. Local
  // and without waiting: only processes with members need to make it, and those must make their groups of
  // equal ranks in one order. Throws kPlacement on ranks that do not exist or come twice.
  // For memory on the devices of a kind that these ranks have: on other devices than CPUs calls take their
  // turn in the order of the current streams, and a request that has been waited for is complete for what is
  // queued there from then on (test() asks the device).
  static Ref<Group> make(std::vector<int> ranks, int64_t timeout_ms = kDefaultTimeoutMs,
                         device::DeviceType type = device::DeviceType::kCpu);
  // The group of these ranks that all of one kind share who ask for it here.
  static Ref<Group> of(std::span<const int> ranks, Caller caller = Caller::kEager,
                       device::DeviceType type = device::DeviceType::kCpu);
  // The time-out of those that `of` gives, and has given.
  static void set_shared_timeout(int64_t timeout_ms);

  // The group of the same ranks for memory on devices of a kind; itself for its own. One for each group.
  Ref<Group> on(device::DeviceType type);
  device::DeviceType type() const { return type_; }

  std::span<const int> ranks() const { return ranks_; }
  int size() const { return static_cast<int>(ranks_.size()); }
  std::span<const int> members() const { return members_; }  // the addressable ones, as indices of ranks()
  int member_of(int rank) const;                             // -1 when it has none
  bool in_process() const { return members_.size() == ranks_.size(); }
  const std::string& name() const { return name_; }  // "group [0, 1]"
  int64_t timeout_ms() const { return timeout_ms_.load(std::memory_order_relaxed); }

  // Posts a call: throws kValue, kType or kNotImplemented on a malformed one, kPlacement where this process
  // has no member, kComm once the group has failed, until it begins anew. The spans need not outlive it, the
  // memory must.
  Ref<Request> post(const Call& call);
  Ref<Request> send(const Message& message);
  Ref<Request> receive(const Message& message);

  // What is posted and not complete fails with this reason, here and in the other processes, and so does what
  // is posted later: for whoever cannot come to calls that others wait in. No memory of them is touched any
  // more. Calls among members of this process alone are complete anyway.
  virtual void give_up(const std::string& reason) { static_cast<void>(reason); }

  // Before calls that belong together. After a failure they work again, with those of members that have begun
  // anew as well, and nothing of the time before reaches them; never waits. Every process hears of a failure
  // once: where another one has given up since this one has begun, throws kComm with its reason, and begins
  // anew when it is called again. While nothing is posted by another thread.
  virtual void begin_anew() {}
  // Throws kComm where a member has ended or given up, as a call that waited for it would: for calls whose
  // memory moves by other means.
  virtual void check_members() {}
  // How often it has done so; in a call that succeeds, equal in all processes.
  virtual uint64_t epoch() const { return 0; }
  // Numbers from 0, since it has begun; for what all processes count alike.
  int64_t next_number() { return numbers_++; }

  // Bytes that calls have moved from one member to another, within this process and out of it.
  int64_t moved_bytes() const { return moved_bytes_; }
  int64_t far_bytes() const { return far_bytes_; }  // of them, those that have left this machine

 protected:
  Group(std::vector<int> ranks, int64_t timeout_ms, const World& world,
        device::DeviceType type = device::DeviceType::kCpu);
  ~Group() override = default;
  void count_moved(int64_t bytes, int64_t far = 0) {
    moved_bytes_ += bytes;
    far_bytes_ += far;
  }
  void count_from_zero() { numbers_ = 0; }

 private:
  // A checked call or message.
  virtual Ref<Request> start(const Call& call) = 0;
  virtual Ref<Request> start_send(const Message& message) = 0;
  virtual Ref<Request> start_receive(const Message& message) = 0;

  std::vector<int> ranks_, members_;
  std::string name_;
  device::DeviceType type_;
  uint64_t instance_ = 0;  // among groups of these ranks
  std::mutex mutex_;       // guards what follows
  Ref<Group> on_devices_;
  std::atomic<int64_t> timeout_ms_;
  std::atomic<int64_t> moved_bytes_{0}, far_bytes_{0}, numbers_{0};
};

}  // namespace tw::comm
