#include "comm/far_peer.h"

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "comm/ucx_link.h"
#include "comm/watcher.h"

namespace tw::comm {

namespace {

// A machine that vanishes without a word is noticed after some ten seconds. Only connections that are never
// full may give up like this: others have to wait as long as the other process is busy.
void watch_for_loss(int socket) {
  auto set = [&](int level, int name, int value) { setsockopt(socket, level, name, &value, sizeof(value)); };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 3);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 2);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, 9000);
}

class TcpLink final : public Link {
 public:
  TcpLink(FarPeer& peer, uint64_t group, std::unique_ptr<TcpStream> calls,
          std::unique_ptr<TcpStream> messages)
      : peer_(peer), group_(group), calls_(std::move(calls)), messages_(std::move(messages)) {}

  Stream& calls() override { return *calls_; }
  Stream& messages() override { return *messages_; }
  void fail(const std::string& reason) override { peer_.send_failure(group_, reason); }
  std::string failure_of_peer() override { return peer_.failure(group_); }
  bool drain() override {
    bool calls = calls_->drain();
    return messages_->drain() && calls;
  }

 private:
  FarPeer& peer_;
  uint64_t group_;
  std::unique_ptr<TcpStream> calls_, messages_;
};

}  // namespace

FarPeer::FarPeer(int process, const sockaddr_in& address, Transport transport, Descriptor control,
                 const FarContext& context)
    : Peer(process),
      address_(address),
      transport_(transport),
      context_(context),
      control_(std::move(control)),
      guard_(control_.get()) {
  watch_for_loss(control_.get());
  watch(control_);
}

void FarPeer::watch(const Descriptor& socket) const {
  if (context_.watcher) context_.watcher->add(socket.get());
}

Hello FarPeer::hello(uint64_t group, Channel channel) const {
  Hello hello;
  hello.job = context_.job;
  hello.group = group;
  hello.process = context_.process;
  hello.channel = channel;
  return hello;
}

std::unique_ptr<TcpStream> FarPeer::call(uint64_t group, Channel channel) const {
  Descriptor socket = call_lobby(address_);
  watch(socket);
  auto stream = std::make_unique<TcpStream>(std::move(socket));
  Hello mine = hello(group, channel);
  stream->write(reinterpret_cast<const char*>(&mine), sizeof(mine));
  stream->flush();
  return stream;
}

// A connection that has come, or null.
std::unique_ptr<TcpStream> FarPeer::expect(uint64_t group, Channel channel) const {
  Descriptor socket;
  if (!context_.lobby->take(process(), group, channel, &socket)) return nullptr;
  watch(socket);
  return std::make_unique<TcpStream>(std::move(socket));
}

std::unique_ptr<Link> FarPeer::link(uint64_t group, std::unique_ptr<TcpStream> calls,
                                    std::unique_ptr<TcpStream> messages) {
  if (transport_ == Transport::kTcp)
    return std::make_unique<TcpLink>(*this, group, std::move(calls), std::move(messages));
  return std::make_unique<UcxLink>(*this, group, context_.process, context_.workers->of(group),
                                   std::move(calls));
}

std::unique_ptr<Link> FarPeer::make_link(uint64_t group) {
  auto calls = call(group, Channel::kCalls);
  auto messages = transport_ == Transport::kTcp ? call(group, Channel::kMessages) : nullptr;
  return link(group, std::move(calls), std::move(messages));
}

std::unique_ptr<Link> FarPeer::take_link(uint64_t group) {
  std::lock_guard lock(mutex_);
  std::unique_ptr<TcpStream>& calls = calls_[group];
  std::unique_ptr<TcpStream> messages;
  if (!calls) calls = expect(group, Channel::kCalls);
  bool needs_messages = transport_ == Transport::kTcp;
  if (calls && needs_messages) messages = expect(group, Channel::kMessages);
  if (!calls || (needs_messages && !messages)) return nullptr;
  std::unique_ptr<Link> made = link(group, std::move(calls), std::move(messages));
  calls_.erase(group);
  return made;
}

bool FarPeer::gone() {
  std::lock_guard lock(mutex_);
  receive();
  return gone_;
}

bool FarPeer::lost() {
  std::lock_guard lock(mutex_);
  receive();
  return lost_;
}

void FarPeer::receive() {
  while (!gone_) {
    char* to = reinterpret_cast<char*>(&coming_);
    ssize_t got = recv(control_.get(), to + come_, sizeof(Notice) - come_, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) {
      gone_ = true;
      lost_ = got < 0 && errno != ECONNRESET;  // a reset comes from a machine that is there
      return;
    }
    come_ += static_cast<size_t>(got);
    if (come_ < sizeof(Notice)) continue;
    come_ = 0;
    coming_.reason[sizeof(coming_.reason) - 1] = 0;
    failures_.try_emplace(coming_.group, coming_.reason);
  }
}

// One that does not fit into the system's buffer is not sent: the other side then finds out by its time-out.
void FarPeer::send_failure(uint64_t group, const std::string& reason) {
  std::lock_guard lock(mutex_);
  if (!tells_) return;
  Notice notice;
  notice.group = group;
  std::copy_n(reason.data(), std::min(reason.size(), sizeof(notice.reason) - 1), notice.reason);
  tells_ = send(control_.get(), &notice, sizeof(notice), MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof(notice);
}

std::string FarPeer::failure(uint64_t group) {
  std::lock_guard lock(mutex_);
  receive();
  auto found = failures_.find(group);
  return found == failures_.end() ? std::string() : found->second;
}

}  // namespace tw::comm
