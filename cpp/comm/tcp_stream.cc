#include "comm/tcp_stream.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace tw::comm {

namespace {

constexpr size_t kGatherBytes = 16 << 10;
constexpr size_t kInBytes = 256 << 10;

}  // namespace

TcpStream::TcpStream(Descriptor socket) : socket_(std::move(socket)), guard_(socket_.get()) {
  out_.reserve(kGatherBytes);
}

size_t TcpStream::write(const char* from, size_t size) {
  if (broken_) return 0;
  if (out_.size() + size <= kGatherBytes) {
    out_.insert(out_.end(), from, from + size);
    return size;
  }
  return send(from, size);
}

bool TcpStream::flush() {
  if (!out_.empty()) send(nullptr, 0);
  return out_.empty();
}

// What was gathered, then as much of `more` as there is room for; returns how much of that.
size_t TcpStream::send(const char* more, size_t size) {
  if (broken_) return 0;
  size_t gathered = out_.size() - out_sent_;
  iovec parts[2] = {{out_.data() + out_sent_, gathered}, {const_cast<char*>(more), size}};
  msghdr message{};
  message.msg_iov = gathered > 0 ? parts : parts + 1;
  message.msg_iovlen = (gathered > 0) + (size > 0);
  ssize_t sent = sendmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent < 0) {
    if (errno != EAGAIN && errno != EINTR) broken_ = true;
    return 0;
  }
  size_t done = static_cast<size_t>(sent);
  out_sent_ += std::min(done, gathered);
  if (out_sent_ < out_.size()) return 0;
  out_.clear();
  out_sent_ = 0;
  return done - gathered;
}

size_t TcpStream::receive(char* to, size_t size) {
  if (ended_) return 0;
  ssize_t got = recv(socket_.get(), to, size, MSG_DONTWAIT);
  if (got > 0) return static_cast<size_t>(got);
  if (got == 0 || (errno != EAGAIN && errno != EINTR)) ended_ = true;
  return 0;
}

std::span<const char> TcpStream::readable(size_t least) {
  if (in_end_ - in_first_ < least) {
    if (in_.empty()) in_.resize(kInBytes / kAlign);
    size_t shift = in_first_ / kAlign * kAlign;
    if (shift > 0) std::memmove(in() + in_first_ - shift, in() + in_first_, in_end_ - in_first_);
    in_first_ -= shift;
    in_end_ -= shift;
    in_end_ += receive(in() + in_end_, kInBytes - in_end_);
  }
  return {in() + in_first_, in_end_ - in_first_};
}

size_t TcpStream::read(char* to, size_t size) {
  if (in_end_ == in_first_ && size >= kGatherBytes) {
    size_t got = receive(to, size);
    in_first_ = in_end_ = (in_first_ + got) % kAlign;
    return got;
  }
  std::span<const char> data = readable(1);
  size_t piece = std::min(data.size(), size);
  if (piece > 0) std::memcpy(to, data.data(), piece);
  consume(piece);
  return piece;
}

bool TcpStream::ended() {
  if (in_end_ - in_first_ + kAlign < kInBytes) readable(in_end_ - in_first_ + 1);
  return ended_;
}

bool TcpStream::drain() {
  in_first_ = in_end_ = 0;
  while (!readable(1).empty()) in_first_ = in_end_ = 0;
  int left = 0;
  bool sent = flush();
  return broken_ || (sent && ioctl(socket_.get(), SIOCOUTQ, &left) == 0 && left == 0);
}

}  // namespace tw::comm
