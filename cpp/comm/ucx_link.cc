#include "comm/ucx_link.h"

#include <unistd.h>

#include <cstring>

#include "base/clock.h"
#include "base/error.h"
#include "comm/far_peer.h"

namespace tw::comm {

namespace {

constexpr uint16_t kLinkChannel = 2;
constexpr uint16_t kGreeting = 0, kAnswer = 1;
constexpr int64_t kLookNs = 20'000'000;
// What a process has sent before its end has come when nothing came for so long.
constexpr int64_t kQuietNs = 500'000'000;
// An endpoint that breaks while its process is there: the other side gives up, and says so before that.
constexpr int64_t kBrokenNs = 2'000'000'000;
constexpr int64_t kCloseNs = 1'000'000'000;

}  // namespace

UcxLink::UcxLink(FarPeer& peer, uint64_t group, int self, std::shared_ptr<UcxWorker> worker,
                 std::unique_ptr<TcpStream> connection)
    : peer_(peer),
      group_(group),
      self_(self),
      worker_(std::move(worker)),
      connection_(std::move(connection)),
      calls_(*worker_, self, 0),
      messages_(*worker_, self, 1) {
  worker_->set_receiver(peer.process(), this);
  std::string address = worker_->address();
  uint64_t size = address.size();
  connection_->write(reinterpret_cast<const char*>(&size), sizeof(size));
  connection_->write(address.data(), address.size());
  connection_->flush();
}

UcxLink::~UcxLink() { close(); }

// Once the other side's address has come; whether that is now.
bool UcxLink::connect() {
  connection_->flush();
  uint64_t size = 0;
  std::span<const char> come = connection_->readable(sizeof(size));
  if (come.size() < sizeof(size)) return false;
  std::memcpy(&size, come.data(), sizeof(size));
  TW_CHECK(size > 0 && size < 64 << 10, kComm, "UCX: process ", peer_.process(), " sent an address of ", size,
           " bytes");
  come = connection_->readable(sizeof(size) + size);
  if (come.size() < sizeof(size) + size) return false;
  ucp_ep_params_t wanted{};
  wanted.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER;
  wanted.address = reinterpret_cast<const ucp_address_t*>(come.data() + sizeof(size));
  wanted.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  wanted.err_handler.arg = this;
  wanted.err_handler.cb = [](void* self, ucp_ep_h, ucs_status_t) {
    static_cast<UcxLink*>(self)->broken_ = true;
  };
  refused_ = ucx().ep_create(worker_->get(), &wanted, &endpoint_);
  connection_->consume(sizeof(size) + size);
  if (refused_ != UCS_OK) {
    endpoint_ = nullptr;
    broken_ = true;
    return false;
  }
  greet(kGreeting);
  return true;
}

void UcxLink::greet(uint16_t what) {
  UcxWorker::send(endpoint_, {self_, kLinkChannel, what, 0}, nullptr, 0, true);
}

// Whether a greeting or an answer has come just now.
bool UcxLink::prepare() {
  bool greeted = std::exchange(greeted_, false), answered = std::exchange(answered_, false);
  if (greeted) greet(kAnswer);
  if (answered) {
    calls_.open(endpoint_);
    messages_.open(endpoint_);
  }
  return greeted || answered;
}

bool UcxLink::receive(const UcxHeader& header, void* data, size_t size, bool remote) {
  came_ = now_ns();
  if (header.channel == kLinkChannel) {
    (header.credit == kGreeting ? greeted_ : answered_) = true;
    return false;
  }
  return (header.channel == 0 ? calls_ : messages_).receive(header, data, size, remote);
}

bool UcxLink::take_in() {
  if (stopped_) return false;
  bool moved = !endpoint_ && !broken_ && connect();
  moved |= worker_->progress();
  if (endpoint_) moved |= prepare();
  if (!moved) look_for_end();
  return moved;
}

void UcxLink::look_for_end() {
  int64_t now = now_ns();
  if (now - looked_ < kLookNs) return;
  looked_ = now;
  bool gone = connection_->ended();
  if (!gone && !broken_) return;
  if (end_shown_ == 0) end_shown_ = now;
  int64_t quiet = now - std::max(end_shown_, came_);
  if (gone ? broken_ || !endpoint_ || quiet > kQuietNs : quiet > kBrokenNs) {
    if (!gone) check_ucx(refused_, "endpoint");
    calls_.end();
    messages_.end();
  }
}

// The endpoint stays open as long as it can: the other side may have to read what was sent before.
void UcxLink::fail(const std::string& reason) {
  peer_.send_failure(group_, reason);
  if (calls_.touches_callers() || messages_.touches_callers()) close();
  stopped_ = true;
}

std::string UcxLink::failure_of_peer() { return peer_.failure(group_); }

bool UcxLink::drain() {
  if (stopped_) return true;
  take_in();
  calls_.drop();
  messages_.drop();
  bool calls = calls_.flush();
  return (messages_.flush() && calls) || broken_;
}

// By force: UCX ends what is under way on the endpoint, here and there.
void UcxLink::close() {
  worker_->set_receiver(peer_.process(), nullptr);
  if (!endpoint_) return;
  calls_.drop();
  messages_.drop();
  calls_.close();
  messages_.close();
  ucp_request_param_t how{};
  how.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  how.flags = UCP_EP_CLOSE_FLAG_FORCE;
  UcxRequest closing(ucx().ep_close_nbx(std::exchange(endpoint_, nullptr), &how));
  for (int64_t deadline = now_ns() + kCloseNs; now_ns() < deadline;) {
    ucx().worker_progress(worker_->get());
    bool over = closing.status() != UCS_INPROGRESS;
    if (over && !calls_.touches_any() && !messages_.touches_any()) return;
  }
}

}  // namespace tw::comm
