#include "comm/socket.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>

#include "base/clock.h"
#include "base/error.h"

namespace tw::comm {

namespace {

constexpr int64_t kRetryMs = 50;

[[noreturn]] void fail(const std::string& what, const std::string& reason) {
  TW_FAIL(kComm, what, ": ", reason);
}

// Waits until the socket can be used; false when the deadline has passed.
bool ready(int fd, short events, int64_t deadline_ns) {
  for (;;) {
    int64_t left_ms = std::max<int64_t>((deadline_ns - now_ns()) / 1'000'000, 0);
    pollfd entry{fd, events, 0};
    int count = poll(&entry, 1, static_cast<int>(std::min<int64_t>(left_ms, 60'000)));
    if (count > 0) return true;
    if (count == 0 && left_ms == 0) return false;
  }
}

sockaddr_un unix_address(const std::string& name, socklen_t* size) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), std::min(name.size(), sizeof(address.sun_path) - 1));
  *size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}

Descriptor try_connect(const addrinfo& address) {
  Descriptor socket(::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket || connect(socket.get(), address.ai_addr, address.ai_addrlen) != 0) return Descriptor();
  int on = 1;
  setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  return socket;
}

}  // namespace

Descriptor listen_tcp(int port) {
  Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  TW_CHECK(socket, kOs, "socket: ", std::strerror(errno));
  int on = 1;
  setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  if (bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) return Descriptor();
  if (listen(socket.get(), 1024) != 0) return Descriptor();
  return socket;
}

Descriptor connect_tcp(const std::string& host, int port, int64_t deadline_ns, const std::string& what) {
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  std::string reason;
  do {
    addrinfo* found = nullptr;
    int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
    std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> list(found, freeaddrinfo);
    if (error != 0) {
      reason = gai_strerror(error);
    } else {
      for (const addrinfo* entry = found; entry; entry = entry->ai_next) {
        if (Descriptor socket = try_connect(*entry)) return socket;
        reason = std::strerror(errno);
      }
    }
    usleep(kRetryMs * 1000);
  } while (now_ns() < deadline_ns);
  fail(what, cat("nobody answers at ", host, ":", port, " (", reason, ")"));
}

Descriptor listen_unix(const std::string& name) {
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  TW_CHECK(socket, kOs, "socket: ", std::strerror(errno));
  socklen_t size;
  sockaddr_un address = unix_address(name, &size);
  bool good =
      bind(socket.get(), reinterpret_cast<sockaddr*>(&address), size) == 0 && listen(socket.get(), 1024) == 0;
  TW_CHECK(good, kOs, "socket: ", std::strerror(errno));
  return socket;
}

Descriptor connect_unix(const std::string& name, const std::string& what) {
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  TW_CHECK(socket, kOs, "socket: ", std::strerror(errno));
  socklen_t size;
  sockaddr_un address = unix_address(name, &size);
  if (connect(socket.get(), reinterpret_cast<sockaddr*>(&address), size) != 0)
    fail(what, std::strerror(errno));
  return socket;
}

void set_nonblocking(const Descriptor& socket) {
  fcntl(socket.get(), F_SETFL, fcntl(socket.get(), F_GETFL) | O_NONBLOCK);
}

Descriptor accept_one(const Descriptor& listener, int64_t deadline_ns, const std::string& what) {
  if (!ready(listener.get(), POLLIN, deadline_ns)) fail(what, "nobody came in time");
  Descriptor socket(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!socket) fail(what, std::strerror(errno));
  int on = 1;
  setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));  // no effect on Unix sockets
  return socket;
}

void send_all(const Descriptor& socket, const void* data, size_t size, int64_t deadline_ns,
              const std::string& what) {
  const char* from = static_cast<const char*>(data);
  while (size > 0) {
    if (!ready(socket.get(), POLLOUT, deadline_ns)) fail(what, "the time is over");
    ssize_t sent = send(socket.get(), from, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (sent < 0) fail(what, std::strerror(errno));
    from += sent;
    size -= static_cast<size_t>(sent);
  }
}

void receive_all(const Descriptor& socket, void* data, size_t size, int64_t deadline_ns,
                 const std::string& what) {
  char* to = static_cast<char*>(data);
  while (size > 0) {
    if (!ready(socket.get(), POLLIN, deadline_ns)) fail(what, "the time is over");
    ssize_t got = recv(socket.get(), to, size, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (got < 0) fail(what, std::strerror(errno));
    if (got == 0) fail(what, "the other side has gone");
    to += got;
    size -= static_cast<size_t>(got);
  }
}

void send_descriptor(const Descriptor& socket, uint64_t number, int fd, const std::string& what) {
  iovec data{&number, sizeof(number)};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &fd, sizeof(int));
  if (sendmsg(socket.get(), &message, MSG_NOSIGNAL) != sizeof(number)) fail(what, std::strerror(errno));
}

Received receive_descriptor(const Descriptor& socket, uint64_t* number, Descriptor* fd) {
  iovec data{number, sizeof(*number)};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  ssize_t got = recvmsg(socket.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return Received::kNothing;
  cmsghdr* header = got == sizeof(*number) ? CMSG_FIRSTHDR(&message) : nullptr;
  if (!header || header->cmsg_type != SCM_RIGHTS) return Received::kClosed;
  int received;
  std::memcpy(&received, CMSG_DATA(header), sizeof(int));
  *fd = Descriptor(received);
  return Received::kOne;
}

}  // namespace tw::comm
