// Links in shared memory, between processes of one machine.
//
// Each direction is a ring with one writer and one reader, mapped twice in a row, so that a piece never wraps
// around.
#pragma once

#include <atomic>

#include "comm/link.h"
#include "comm/shared_memory.h"

namespace tw::comm {

constexpr size_t kRingBytes = 512 << 10;

// The counters only grow; their difference is what the ring holds.
struct RingCounters {
  alignas(64) std::atomic<uint64_t> written{0};
  alignas(64) std::atomic<uint64_t> read{0};
};

class RingStream final : public Stream {
 public:
  struct Ring {
    RingCounters* counters;
    char* data;
  };
  RingStream(Ring out, Ring in, Doorbell& peer) : out_(out), in_(in), peer_(peer) {}
  size_t write(const char* from, size_t size) override;
  bool flush() override { return true; }
  std::span<const char> readable(size_t least) override;
  void consume(size_t size) override;
  size_t read(char* to, size_t size) override;
  bool ended() override { return false; }  // memory stays when a process ends

 private:
  Ring out_, in_;
  Doorbell& peer_;
  // Of each ring ours, and the other side's as last seen.
  uint64_t out_written_ = 0, out_read_ = 0, in_written_ = 0, in_read_ = 0;
};

class RingLink final : public Link {
 public:
  // `first`: whether this side is the one that made the memory. Each side makes its end of the same memory.
  RingLink(int fd, bool first, Doorbell& bell);
  static Descriptor make_memory();

  Stream& calls() override { return calls_; }
  Stream& messages() override { return messages_; }
  void fail(const std::string& reason) override;
  std::string failure_of_peer() override;
  bool drain() override { return true; }

 private:
  struct Failure {
    std::atomic<uint32_t> set{0};
    char reason[2044];
  };
  struct Head {
    RingCounters counters[4];
    Failure failures[2];
  };
  static constexpr size_t kHeadBytes = 8192;
  static_assert(sizeof(Head) <= kHeadBytes);
  Head& head() const { return *reinterpret_cast<Head*>(mapping_.data()); }
  RingStream::Ring ring(int i) const;

  Doorbell& bell_;
  Mapping mapping_;
  bool first_;
  RingStream calls_, messages_;
};

}  // namespace tw::comm
