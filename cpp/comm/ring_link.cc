#include "comm/ring_link.h"

#include <algorithm>
#include <cstring>

namespace tw::comm {

namespace {

constexpr size_t kPublishBytes = 32 << 10;  // written and freed in steps, so that both sides work at once

}  // namespace

size_t RingStream::write(const char* from, size_t size) {
  size_t done = 0;
  while (done < size) {
    size_t room = kRingBytes - static_cast<size_t>(out_written_ - out_read_);
    if (room < std::min(size - done, kPublishBytes)) {
      out_read_ = out_.counters->read.load(std::memory_order_seq_cst);
      room = kRingBytes - static_cast<size_t>(out_written_ - out_read_);
      if (room == 0) break;
    }
    size_t piece = std::min({size - done, room, kPublishBytes});
    std::memcpy(out_.data + out_written_ % kRingBytes, from + done, piece);
    out_written_ += piece;
    done += piece;
    out_.counters->written.store(out_written_, std::memory_order_seq_cst);
    peer_.ring();
  }
  return done;
}

std::span<const char> RingStream::readable(size_t least) {
  if (in_written_ - in_read_ < least) in_written_ = in_.counters->written.load(std::memory_order_seq_cst);
  return {in_.data + in_read_ % kRingBytes, static_cast<size_t>(in_written_ - in_read_)};
}

void RingStream::consume(size_t size) {
  in_read_ += size;
  in_.counters->read.store(in_read_, std::memory_order_seq_cst);
  peer_.ring();
}

size_t RingStream::read(char* to, size_t size) {
  size_t piece = std::min({readable(1).size(), size, kPublishBytes});
  if (piece == 0) return 0;
  std::memcpy(to, readable(1).data(), piece);
  consume(piece);
  return piece;
}

Descriptor RingLink::make_memory() { return make_shared_memory(kHeadBytes + 4 * kRingBytes); }

RingStream::Ring RingLink::ring(int i) const {
  return {&head().counters[i], mapping_.data() + kHeadBytes + 2 * kRingBytes * static_cast<size_t>(i)};
}

RingLink::RingLink(int fd, bool first, Doorbell& bell)
    : bell_(bell),
      mapping_(fd, kHeadBytes, kRingBytes, 4),
      first_(first),
      calls_(ring(first ? 0 : 1), ring(first ? 1 : 0), bell),
      messages_(ring(first ? 2 : 3), ring(first ? 3 : 2), bell) {}

void RingLink::fail(const std::string& reason) {
  Failure& mine = head().failures[first_ ? 0 : 1];
  if (mine.set.load(std::memory_order_relaxed) != 0) return;
  size_t size = std::min(reason.size(), sizeof(mine.reason) - 1);
  std::memcpy(mine.reason, reason.data(), size);
  mine.reason[size] = 0;
  mine.set.store(1, std::memory_order_seq_cst);
  bell_.ring();
}

std::string RingLink::failure_of_peer() {
  const Failure& theirs = head().failures[first_ ? 1 : 0];
  return theirs.set.load(std::memory_order_seq_cst) == 0 ? std::string() : theirs.reason;
}

}  // namespace tw::comm
