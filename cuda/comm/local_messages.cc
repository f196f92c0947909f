#include "cuda/comm/local_messages.h"

#include <chrono>
#include <mutex>
#include <thread>

#include "base/clock.h"
#include "base/error.h"

namespace tw::cuda {

using comm::Message;

// One end. It begins when what was queued on its device's current stream before has run.
class LocalMessage final : public comm::Request {
 public:
  LocalMessage(const Message& message, bool sends, int device, std::string group, std::mutex& mutex,
               int64_t timeout_ms)
      : message_(message),
        sends_(sends),
        device_(device),
        group_(std::move(group)),
        mutex_(mutex),
        timeout_ms_(timeout_ms),
        ready_(make_ref<CudaEvent>(device)) {
    ready_->record(stream_of_thread(device));
  }

  bool fits(const Message& other, bool other_sends) const {
    return sends_ != other_sends && message_.from == other.from && message_.to == other.to &&
           message_.tag == other.tag;
  }

  // On the current stream of the receiver's device, after both ends are ready.
  void meet(LocalMessage& other) {
    LocalMessage &from = sends_ ? *this : other, &to = sends_ ? other : *this;
    if (from.message_.dtype != to.message_.dtype || from.message_.count != to.message_.count) {
      failure_ = other.failure_ =
          cat("send: member ", from.message_.from, " of ", group_, " sends ", from.message_.count, " ",
              from.message_.dtype, ", member ", to.message_.to, " receives ", to.message_.count, " ",
              to.message_.dtype);
    } else {
      OnDevice on(to.device_);
      CudaStream& stream = stream_of_thread(to.device_);
      for (const LocalMessage* end : {&from, &to})
        check(cudaStreamWaitEvent(stream.handle(), end->ready_->handle(), 0), "send");
      auto bytes = static_cast<size_t>(from.message_.count * size_of(from.message_.dtype));
      if (bytes > 0)
        check(
            cudaMemcpyAsync(to.message_.data, from.message_.data, bytes, cudaMemcpyDefault, stream.handle()),
            "send");
      done_ = other.done_ = make_ref<CudaEvent>(to.device_);
      done_->record(stream);
    }
    met_ = other.met_ = true;
  }

  bool test() override {
    std::lock_guard lock(mutex_);
    TW_CHECK(failure_.empty(), kComm, failure_);
    if (!done_ || !done_->done()) return false;
    message_.keep.clear();
    return true;
  }

  void wait(int64_t timeout_ms) override {
    if (timeout_ms == comm::kGroupTimeout) timeout_ms = timeout_ms_;
    int64_t deadline = now_ns() + timeout_ms * 1'000'000;
    std::unique_lock lock(mutex_);
    while (!met_ && now_ns() < deadline) {  // another thread may bring the other end
      lock.unlock();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      lock.lock();
    }
    if (!met_)
      failure_ =
          cat(sends_ ? "send" : "recv", ": no other end came within ", timeout_ms,
              " ms for a message from member ", message_.from, " to member ", message_.to, " of ", group_);
    met_ = true;
    TW_CHECK(failure_.empty(), kComm, failure_);
    OnDevice on(device_);
    check(cudaStreamWaitEvent(stream_of_thread(device_).handle(), done_->handle(), 0), "send");
    message_.keep.clear();
  }

  bool met() const { return met_; }

 private:
  Message message_;
  bool sends_, met_ = false;
  int device_;
  std::string group_;
  std::mutex& mutex_;
  int64_t timeout_ms_;
  Ref<CudaEvent> ready_, done_;
  std::string failure_;
};

LocalMessages::LocalMessages(std::string group, std::mutex& mutex)
    : group_(std::move(group)), mutex_(mutex) {}
LocalMessages::~LocalMessages() = default;

Ref<comm::Request> LocalMessages::post(const Message& message, bool sends, int device, int64_t timeout_ms) {
  auto request = make_ref<LocalMessage>(message, sends, device, group_, mutex_, timeout_ms);
  std::erase_if(waiting_,
                [](const Ref<LocalMessage>& other) { return other->met(); });  // they have timed out
  for (auto other = waiting_.begin(); other != waiting_.end(); ++other) {
    if (!(*other)->fits(message, sends)) continue;
    request->meet(**other);
    waiting_.erase(other);
    return request;
  }
  waiting_.push_back(request);
  return request;
}

}  // namespace tw::cuda
