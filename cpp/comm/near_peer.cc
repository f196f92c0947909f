#include "comm/near_peer.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "comm/socket.h"

namespace tw::comm {

NearPeer::NearPeer(int process, Descriptor socket, int pid) : Peer(process), socket_(std::move(socket)) {
  pid_ = Descriptor(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
}

void NearPeer::send_doorbell(int mine) {
  send_descriptor(socket_, 0, mine, cat("connection to process ", process()));
}

void NearPeer::take_doorbell(int64_t deadline_ns) {
  const std::string what = cat("connection to process ", process());
  Descriptor theirs;
  uint64_t number;
  for (;;) {
    Received received = receive_descriptor(socket_, &number, &theirs);
    if (received == Received::kOne) break;
    TW_CHECK(received == Received::kNothing && now_ns() < deadline_ns, kComm, what, ": it has gone");
    usleep(200);
  }
  doorbell_ = Mapping(theirs.get(), sizeof(Doorbell));
}

std::unique_ptr<Link> NearPeer::make_link(uint64_t group) {
  Descriptor memory = RingLink::make_memory();
  auto link = std::make_unique<RingLink>(memory.get(), true, doorbell());
  if (gone()) return link;
  std::lock_guard lock(mutex_);
  try {
    send_descriptor(socket_, group, memory.get(), "");
  } catch (const Error&) {
    gone_ = true;  // just now; whoever waits for it says so
  }
  return link;
}

void NearPeer::receive() {
  uint64_t number;
  Descriptor memory;
  for (;;) {
    Received received = receive_descriptor(socket_, &number, &memory);
    if (received == Received::kClosed) gone_ = true;
    if (received != Received::kOne) return;
    memories_[number] = std::move(memory);
    memory = Descriptor();
  }
}

std::unique_ptr<Link> NearPeer::take_link(uint64_t group) {
  std::lock_guard lock(mutex_);
  if (!memories_.contains(group)) receive();
  auto found = memories_.find(group);
  if (found == memories_.end()) return nullptr;
  auto link = std::make_unique<RingLink>(found->second.get(), false, doorbell());
  memories_.erase(found);
  return link;
}

// The socket alone would not tell: children that the peer has forked keep it open.
bool NearPeer::gone() {
  std::lock_guard lock(mutex_);
  if (gone_) return true;
  pollfd ended{pid_.get(), POLLIN, 0};
  if (pid_ && poll(&ended, 1, 0) == 1) gone_ = true;
  receive();
  return gone_;
}

}  // namespace tw::comm
