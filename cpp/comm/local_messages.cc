#include "comm/local_messages.h"

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>

#include "base/error.h"

namespace tw::comm {

// Messages that wait for their other end, shared with their requests.
struct Mailroom : RefCounted {
  std::mutex mutex;
  std::condition_variable arrived;
};

class LocalMessage final : public Request {
 public:
  LocalMessage(Ref<Mailroom> room, const Message& message, bool sends, std::string group, int64_t timeout_ms)
      : room_(std::move(room)),
        message_(message),
        sends_(sends),
        group_(std::move(group)),
        timeout_ms_(timeout_ms) {}

  bool test() override {
    std::lock_guard lock(room_->mutex);
    return finished();
  }
  void wait(int64_t timeout_ms) override {
    if (timeout_ms == kGroupTimeout) timeout_ms = timeout_ms_;
    std::unique_lock lock(room_->mutex);
    bool came = room_->arrived.wait_for(lock, std::chrono::milliseconds(timeout_ms), [&] { return done_; });
    if (!came) {
      failure_ =
          cat(sends_ ? "send" : "recv", ": no other end came within ", timeout_ms,
              " ms for a message from member ", message_.from, " to member ", message_.to, " of ", group_);
      end();
    }
    finished();
  }

  // The functions below want the lock held.
  bool done() const { return done_; }
  bool fits(const Message& other, bool other_sends) const {
    return sends_ != other_sends && message_.from == other.from && message_.to == other.to &&
           message_.tag == other.tag;
  }
  void meet(LocalMessage& other) {
    const Message &from = sends_ ? message_ : other.message_, &to = sends_ ? other.message_ : message_;
    if (from.dtype != to.dtype || from.count != to.count) {
      failure_ = other.failure_ = cat("send: member ", from.from, " of ", group_, " sends ", from.count, " ",
                                      from.dtype, ", member ", to.to, " receives ", to.count, " ", to.dtype);
    } else if (from.count > 0) {
      std::memcpy(to.data, from.data, static_cast<size_t>(from.count * size_of(from.dtype)));
    }
    end();
    other.end();
    room_->arrived.notify_all();
  }

 private:
  void end() {
    done_ = true;
    message_.keep.clear();
  }
  bool finished() const {
    TW_CHECK(failure_.empty(), kComm, failure_);
    return done_;
  }

  Ref<Mailroom> room_;
  Message message_;
  bool sends_, done_ = false;
  std::string group_, failure_;
  int64_t timeout_ms_;
};

LocalMessages::LocalMessages(std::string group) : group_(std::move(group)), room_(make_ref<Mailroom>()) {}
LocalMessages::~LocalMessages() = default;

Ref<Request> LocalMessages::post(const Message& message, bool sends, int64_t timeout_ms, int64_t* moved) {
  auto request = make_ref<LocalMessage>(room_, message, sends, group_, timeout_ms);
  std::lock_guard lock(room_->mutex);
  for (auto other = waiting_.begin(); other != waiting_.end();) {
    if ((*other)->done()) {  // it has timed out
      other = waiting_.erase(other);
    } else if ((*other)->fits(message, sends)) {
      (*other)->meet(*request);
      *moved = message.count * size_of(message.dtype);
      waiting_.erase(other);
      return request;
    } else {
      ++other;
    }
  }
  waiting_.push_back(request);
  return request;
}

}  // namespace tw::comm
