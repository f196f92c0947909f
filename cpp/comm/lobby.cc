#include "comm/lobby.h"

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "comm/socket.h"
#include "comm/watcher.h"

namespace tw::comm {

namespace {

constexpr size_t kGuests = 4096;  // strangers that say nothing are sent away when there are more

void set_options(int socket) {
  int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

}  // namespace

Lobby::Lobby() : listener_(listen_tcp(0)), guard_(listener_.get()) {
  TW_CHECK(listener_, kOs, "a port for connections from other machines: ", std::strerror(errno));
  set_nonblocking(listener_);
}

uint16_t Lobby::port() const {
  sockaddr_in address{};
  socklen_t size = sizeof(address);
  getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

void Lobby::open(uint64_t job, Watcher* watcher) {
  job_ = job;
  if (watcher) watcher->add(listener_.get());
}

void Lobby::accept_all() {
  for (;;) {
    Descriptor socket(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) return;
    set_options(socket.get());
    if (guests_.size() == kGuests) guests_.pop_front();
    guests_.push_back({std::move(socket), {}, 0});
  }
}

bool Lobby::listen_to(Guest& guest) {
  char* to = reinterpret_cast<char*>(&guest.hello);
  ssize_t got = recv(guest.socket.get(), to + guest.got, sizeof(Hello) - guest.got, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  if (got <= 0) return false;
  guest.got += static_cast<size_t>(got);
  if (guest.got < sizeof(Hello)) return true;
  if (guest.hello.magic == Hello().magic && guest.hello.job == job_)
    waiting_[{guest.hello.process, guest.hello.group, guest.hello.channel}] = std::move(guest.socket);
  return false;
}

bool Lobby::take(int process, uint64_t group, Channel channel, Descriptor* socket) {
  std::lock_guard lock(mutex_);
  std::tuple key(process, group, channel);
  if (!waiting_.contains(key)) {
    accept_all();
    std::erase_if(guests_, [&](Guest& guest) { return !listen_to(guest); });
  }
  auto found = waiting_.find(key);
  if (found == waiting_.end()) return false;
  *socket = std::move(found->second);
  waiting_.erase(found);
  return true;
}

std::string text_of(const sockaddr_in& address) {
  uint32_t bits = ntohl(address.sin_addr.s_addr);
  return cat(bits >> 24, ".", bits >> 16 & 255, ".", bits >> 8 & 255, ".", bits & 255, ":",
             ntohs(address.sin_port));
}

Descriptor call_lobby(const sockaddr_in& address) {
  Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  TW_CHECK(socket, kOs, "a connection to another machine: ", std::strerror(errno));
  set_options(socket.get());
  static_cast<void>(connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)));
  return socket;
}

}  // namespace tw::comm
