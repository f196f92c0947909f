#include "comm/local_group.h"

#include "comm/local_calls.h"
#include "comm/local_messages.h"

namespace tw::comm {

namespace {

class DoneRequest final : public Request {
 public:
  bool test() override { return true; }
  void wait(int64_t) override {}
};

class LocalGroup final : public Group {
 public:
  LocalGroup(std::vector<int> ranks, int64_t timeout_ms)
      : Group(std::move(ranks), timeout_ms, world()), messages_(name()) {}

 private:
  Ref<Request> start(const Call& call) override {
    static auto* done = new Ref<Request>(make_ref<DoneRequest>());
    count_moved(run_local(call));
    return *done;
  }
  Ref<Request> start_send(const Message& message) override { return post_message(message, true); }
  Ref<Request> start_receive(const Message& message) override { return post_message(message, false); }

  Ref<Request> post_message(const Message& message, bool sends) {
    int64_t moved = 0;
    Ref<Request> request = messages_.post(message, sends, timeout_ms(), &moved);
    count_moved(moved);
    return request;
  }

  LocalMessages messages_;
};

}  // namespace

Ref<Group> make_local_group(std::vector<int> ranks, int64_t timeout_ms) {
  return make_ref<LocalGroup>(std::move(ranks), timeout_ms);
}

}  // namespace tw::comm
