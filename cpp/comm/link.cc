#include "comm/link.h"

#include <algorithm>
#include <cstring>

namespace tw::comm {

size_t RingWriter::write(const char* from, size_t size, Doorbell& reader) {
  size_t done = 0;
  while (done < size) {
    size_t room = kRingBytes - static_cast<size_t>(written_ - read_);
    if (room < std::min(size - done, kPublishBytes)) {
      read_ = counters_->read.load(std::memory_order_seq_cst);
      room = kRingBytes - static_cast<size_t>(written_ - read_);
      if (room == 0) break;
    }
    size_t piece = std::min({size - done, room, kPublishBytes});
    std::memcpy(data_ + written_ % kRingBytes, from + done, piece);
    written_ += piece;
    done += piece;
    counters_->written.store(written_, std::memory_order_seq_cst);
    reader.ring();
  }
  return done;
}

std::span<const char> RingReader::readable() {
  if (written_ == read_) written_ = counters_->written.load(std::memory_order_seq_cst);
  return {data_ + read_ % kRingBytes, static_cast<size_t>(written_ - read_)};
}

void RingReader::consume(size_t size, Doorbell& writer) {
  read_ += size;
  counters_->read.store(read_, std::memory_order_seq_cst);
  writer.ring();
}

Descriptor Link::make_memory() { return make_shared_memory(kHeadBytes + 4 * kRingBytes); }

Link::Link(int fd, bool first, Doorbell& peer)
    : peer(peer), mapping_(fd, kHeadBytes, kRingBytes, 4), first_(first) {
  auto ring = [&](int i) { return mapping_.data() + kHeadBytes + 2 * kRingBytes * i; };
  auto stream = [&](Stream& stream, int pair) {
    int out = 2 * pair + (first ? 0 : 1), in = 2 * pair + (first ? 1 : 0);
    stream.out = RingWriter(&head().counters[out], ring(out));
    stream.in = RingReader(&head().counters[in], ring(in));
  };
  stream(calls, 0);
  stream(messages, 1);
}

void Link::fail(const std::string& reason) {
  Failure& mine = head().failures[first_ ? 0 : 1];
  if (mine.set.load(std::memory_order_relaxed) != 0) return;
  size_t size = std::min(reason.size(), sizeof(mine.reason) - 1);
  std::memcpy(mine.reason, reason.data(), size);
  mine.reason[size] = 0;
  mine.set.store(1, std::memory_order_seq_cst);
  peer.ring();
}

std::string Link::failure_of_peer() const {
  const Failure& theirs = head().failures[first_ ? 1 : 0];
  return theirs.set.load(std::memory_order_seq_cst) == 0 ? std::string() : theirs.reason;
}

}  // namespace tw::comm
