#include "comm/process_group.h"

#include <deque>
#include <map>
#include <utility>

#include "base/error.h"
#include "comm/local_messages.h"
#include "comm/process_messages.h"

namespace tw::comm {

namespace {

// The processes of a group, in the order of their numbers.
Circle circle_of(const World& world, std::span<const int> ranks) {
  std::map<int, std::vector<int>> members;
  for (int m = 0; m < static_cast<int>(ranks.size()); m++) members[world.process_of(ranks[m])].push_back(m);
  Circle circle;
  for (auto& [process, list] : members) {
    if (process == world.self()) circle.self = circle.size();
    circle.processes.push_back(process);
    circle.hosts.push_back(world.processes()[process].host);
    circle.members.push_back(std::move(list));
  }
  return circle;
}

uint64_t id_of(std::span<const int> ranks, uint64_t instance, uint64_t epoch) {
  uint64_t id = (14695981039346656037u ^ instance) + epoch * 0x9e3779b97f4a7c15u;
  for (int rank : ranks) id = (id ^ static_cast<uint64_t>(rank + 1)) * 1099511628211u;
  return id;
}

class PendingCall final : public Pending {
 public:
  PendingCall(PendingOwner& owner, const Call& call, const Circle& circle, const CallHeader& header)
      : Pending(owner), call(call, circle, header) {}
  ProcessCall call;
};

class ProcessGroup final : public Group, public Active, public PendingOwner {
 public:
  ProcessGroup(Fabric& fabric, std::vector<int> ranks, int64_t timeout_ms, uint64_t instance)
      : Group(std::move(ranks), timeout_ms, fabric.world()),
        fabric_(fabric),
        circle_(circle_of(fabric.world(), Group::ranks())),
        instance_(instance),
        messages_(circle_.size()),
        local_messages_(name()) {
    make_links();
  }

  bool advance() override {
    std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return false;
    tell_late_ones();
    return advance_locked();
  }

  void give_up(const std::string& reason) override {
    std::lock_guard lock(mutex_);
    fail(reason);
  }

  void begin_anew() override {
    std::lock_guard lock(mutex_);
    if (!failure_.empty()) {
      cause_ = cause_of(std::exchange(failure_, {}));
      epoch_.fetch_add(1, std::memory_order_release);
      number_ = 0;
      count_from_zero();
      messages_ = ProcessMessages(circle_.size());
      make_links();
    }
    // What others had sent before they gave up may be there: a call might do its part of what is lost.
    open_links();
    hear_of_failures();
    TW_CHECK(failure_.empty(), kComm, failure_);
  }
  void check_members() override {
    std::lock_guard lock(mutex_);
    hear_of_failures();
    for (int place = 0; place < circle_.size() && failure_.empty(); place++) {
      if (place == circle_.self) continue;
      Peer& peer = fabric_.peer(circle_.processes[place]);
      if (peer.lost() || peer.gone()) fail(cat(ranks_of(place), " of ", name(), how_ended(place)));
    }
    TW_CHECK(failure_.empty(), kComm, failure_);
  }
  uint64_t epoch() const override { return epoch_.load(std::memory_order_acquire); }

  bool may_sleep() override {
    std::lock_guard lock(mutex_);
    bool may = true;
    for (const auto& link : links_)
      if (link && (link->take_in() || !link->may_sleep())) may = false;
    return may;
  }

  bool drain() override {
    std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock || !failure_.empty()) return true;
    bool drained = true;
    for (const auto& link : links_) drained &= !link || link->drain();
    return drained;
  }

 private:
  Ref<Request> start(const Call& call) override {
    std::lock_guard lock(mutex_);
    check_alive(name_of(call.kind));
    auto pending = make_ref<PendingCall>(*this, call, circle_, header_of(call, *this, number_));
    number_++;
    queue_.push_back(pending);
    advance_locked();
    return pending;
  }

  Ref<Request> start_send(const Message& message) override { return post_message(message, true); }
  Ref<Request> start_receive(const Message& message) override { return post_message(message, false); }

  Ref<Request> post_message(const Message& message, bool sends) {
    int other = fabric_.world().process_of(ranks()[sends ? message.to : message.from]), place = 0;
    while (circle_.processes[place] != other) place++;
    if (place == circle_.self) {
      int64_t moved = 0;
      Ref<Request> request = local_messages_.post(message, sends, timeout_ms(), &moved);
      count_moved(moved);
      return request;
    }
    std::lock_guard lock(mutex_);
    check_alive(sends ? "send" : "recv");
    auto pending = make_ref<ProcessMessage>(*this, message);
    try {
      sends ? messages_.send(place, pending) : messages_.receive(place, pending);
    } catch (const Error& error) {
      fail(error.what());
      throw;
    }
    if (sends) {
      int64_t bytes = static_cast<int64_t>(pending->bytes);
      count_moved(bytes, circle_.hosts[place] == circle_.hosts[circle_.self] ? 0 : bytes);
    }
    advance_locked();
    return pending;
  }

  void check_alive(const char* op) const {
    TW_CHECK(failure_.empty(), kComm, op, ": ", name(), " is out of use since a call has failed: ", failure_);
  }

  // The functions below want the lock held.

  bool advance_locked() {
    if (!failure_.empty() || (queue_.empty() && messages_.idle())) return false;
    bool moved = false;
    try {
      moved = open_links();
      for (const auto& link : links_) moved |= link && link->take_in();
      while (!queue_.empty()) {
        ProcessCall& call = queue_.front()->call;
        moved |= call.advance(links_);
        if (call.mismatch()) {
          fail(call.mismatch_text(name()));
          return true;
        }
        if (!call.complete()) break;
        call.finish();
        call.keep.clear();
        count_moved(call.moved_bytes(), call.far_bytes());
        queue_.front()->set_done();
        queue_.pop_front();
        old_links_.clear();
        moved = true;
      }
      moved |= messages_.advance(links_);
    } catch (const std::exception& error) {
      fail(error.what());
      return true;
    }
    if (moved) fabric_.doorbell().ring();  // other threads of this process
    return moved;
  }

  // Of this epoch alone: what was written in another one is not in them.
  void make_links() {
    id_ = id_of(ranks(), instance_, epoch());
    // Those of the epoch before stay until all have come to this one: closed, they would say that this
    // process has ended.
    old_links_ = std::exchange(links_, Links(circle_.size()));
    gone_.assign(circle_.size(), false);
    open_ = false;
    for (int place = circle_.self + 1; place < circle_.size(); place++)
      links_[place] = fabric_.peer(circle_.processes[place]).make_link(id_);
  }

  // Whose link had not come when the group failed hears of it when the link comes.
  void tell_late_ones() {
    std::erase_if(late_, [&](const Late& late) {
      Peer& peer = fabric_.peer(circle_.processes[late.place]);
      std::unique_ptr<Link> link = peer.take_link(late.id);
      if (link) link->fail(late.reason);
      return link || peer.lost();
    });
  }

  bool open_links() {
    if (open_) return false;
    bool moved = false;
    open_ = true;
    for (int place = 0; place < circle_.self; place++) {
      if (links_[place]) continue;
      links_[place] = fabric_.peer(circle_.processes[place]).take_link(id_);
      if (links_[place])
        moved = true;
      else
        open_ = false;
    }
    return moved;
  }

  // Ends all calls of the group here, and tells the others why.
  void fail(const std::string& reason) {
    if (!failure_.empty()) return;
    failure_ = reason;
    for (int place = 0; place < circle_.size(); place++) {
      if (links_[place])
        links_[place]->fail(reason);
      else if (place != circle_.self)
        late_.push_back({place, id_, reason});
    }
    for (const Ref<PendingCall>& pending : queue_) {
      pending->call.keep.clear();
      pending->set_failed(reason);
    }
    queue_.clear();
    messages_.fail_all(reason);
    fabric_.doorbell().ring();
  }

  std::string text_of(const Pending& request) const {
    for (const Ref<PendingCall>& pending : queue_)
      if (pending.get() == &request) return pending->call.text();
    return messages_.text_of(request);
  }

  std::string ranks_of(int place) const {
    std::vector<int> list;
    for (int member : circle_.members[place]) list.push_back(ranks()[member]);
    return list.size() == 1 ? cat("rank ", list[0]) : cat("ranks ", list);
  }

  void hear_of_failures() {
    for (const auto& link : links_) {
      std::string reason = link ? link->failure_of_peer() : "";
      if (!reason.empty()) fail(reason);
    }
  }

  // What this process does that needs another one; empty for nothing.
  std::string waits_for(int place) const {
    if (!queue_.empty() && queue_.front()->call.waits_for(place)) return queue_.front()->call.text();
    return messages_.waits_for(place);
  }

  // PendingOwner; these take the lock.

  bool progress() override { return advance(); }
  int64_t default_timeout_ms() const override { return timeout_ms(); }

  bool sleep_until(const Pending& request, int64_t timeout_ms) override {
    return fabric_.wait(*this, timeout_ms, [&] { return request.over(); }, [&] { look_at_peers(); });
  }

  void look_at_peers() override {
    std::lock_guard lock(mutex_);
    hear_of_failures();
    for (int place = 0; place < circle_.size() && failure_.empty(); place++) {
      if (place == circle_.self || !ended(place)) continue;
      advance_locked();  // what it has written before it ended is still there
      std::string what = waits_for(place);
      if (!what.empty()) fail(with_cause(cat(ranks_of(place), " of ", name(), how_ended(place)), what));
    }
  }

  // News of a process, with what went wrong before it ended.
  std::string with_cause(const std::string& news, const std::string& what) const {
    bool known = cause_.empty() || cause_.find(news) != std::string::npos;
    return cat(what, ": ", news, known ? "" : cat(kBefore, cause_, ")"));
  }
  static std::string cause_of(const std::string& failure) {
    size_t at = failure.find(kBefore);
    if (at == std::string::npos) return failure;
    at += std::string_view(kBefore).size();
    return failure.substr(at, failure.rfind(')') - at);
  }

  const char* how_ended(int place) {
    bool far = circle_.hosts[place] != circle_.hosts[circle_.self];
    return far && fabric_.peer(circle_.processes[place]).lost() ? " cannot be reached any more"
                                                                : " has ended";
  }

  // Whether what this process waits for can no longer come from a place.
  bool ended(int place) {
    Peer& peer = fabric_.peer(circle_.processes[place]);
    if (peer.lost()) return true;
    if (links_[place]) {
      bool call = !queue_.empty() && queue_.front()->call.waits_for(place);
      bool message = !messages_.waits_for(place).empty();
      return (call && links_[place]->calls().ended()) || (message && links_[place]->messages().ended());
    }
    // Connections that a process has begun may come after the news of its end.
    bool known = gone_[place];
    gone_[place] = peer.gone();
    return known;
  }

  void time_out(const Pending& request, int64_t timeout_ms) override {
    std::lock_guard lock(mutex_);
    advance_locked();
    if (request.over()) return;
    std::string late;
    for (int place = 0; place < circle_.size(); place++) {
      if (place == circle_.self || waits_for(place).empty()) continue;
      bool came = !queue_.empty() && queue_.front()->call.has_come(place);
      late += cat(late.empty() ? "" : ", ", ranks_of(place), came ? " (in the middle of it)" : "");
    }
    fail(cat(text_of(request), ": not complete within ", timeout_ms, " ms in ", name(), ": waiting for ",
             late));
  }

  // A process whose link of a time that is over has not come.
  struct Late {
    int place;
    uint64_t id;
    std::string reason;
  };

  Fabric& fabric_;
  Circle circle_;
  const uint64_t instance_;
  std::atomic<uint64_t> epoch_{0};
  uint64_t id_ = 0;  // of the links
  Links links_, old_links_;
  std::vector<Late> late_;
  std::vector<bool> gone_;  // processes without a link, as last looked at
  bool open_ = false;       // all links are there
  std::mutex mutex_;
  std::deque<Ref<PendingCall>> queue_;
  ProcessMessages messages_;
  LocalMessages local_messages_;
  uint64_t number_ = 0;
  static constexpr const char* kBefore = " (first of all: ";
  std::string failure_, cause_;  // of this epoch; what ended the one before
};

}  // namespace

Ref<Group> make_process_group(Fabric& fabric, std::vector<int> ranks, int64_t timeout_ms, uint64_t instance) {
  auto group = make_ref<ProcessGroup>(fabric, std::move(ranks), timeout_ms, instance);
  fabric.add(group, group.get());
  return group;
}

}  // namespace tw::comm
