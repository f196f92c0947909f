// A stream of bytes to one other process and one back, in shared memory.
//
// Each direction is a ring with one writer and one reader. What is written in pieces is read in pieces of any
// size; the ring is mapped twice in a row, so that a piece never wraps around.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "comm/shared_memory.h"

namespace tw::comm {

constexpr size_t kRingBytes = 512 << 10;
constexpr size_t kPublishBytes = 32 << 10;  // written and freed in steps, so that both sides work at once

// The counters only grow; their difference is what the ring holds.
struct RingCounters {
  alignas(64) std::atomic<uint64_t> written{0};
  alignas(64) std::atomic<uint64_t> read{0};
};

class RingWriter {
 public:
  RingWriter() = default;
  RingWriter(RingCounters* counters, char* data) : counters_(counters), data_(data) {}
  // Copies as much as there is room for and tells `reader`; returns how much.
  size_t write(const char* from, size_t size, Doorbell& reader);

 private:
  RingCounters* counters_ = nullptr;
  char* data_ = nullptr;
  uint64_t written_ = 0, read_ = 0;  // ours, and the reader's as last seen
};

class RingReader {
 public:
  RingReader() = default;
  RingReader(RingCounters* counters, const char* data) : counters_(counters), data_(data) {}
  std::span<const char> readable();
  void consume(size_t size, Doorbell& writer);

 private:
  RingCounters* counters_ = nullptr;
  const char* data_ = nullptr;
  uint64_t written_ = 0, read_ = 0;
};

// What two processes share for one group: a pair of rings for collective calls, one for messages, and for
// each side a word of what has made it give up.
class Link {
 public:
  // `first`: whether this side is the one that made the memory. Each side makes its end of the same memory.
  Link(int fd, bool first, Doorbell& peer);
  static Descriptor make_memory();

  struct Stream {
    RingWriter out;
    RingReader in;
  };
  Stream calls, messages;
  Doorbell& peer;

  // Tells the other side why this one has given up; the first reason stays.
  void fail(const std::string& reason);
  // The reason of the other side, empty while there is none.
  std::string failure_of_peer() const;

 private:
  struct Failure {
    std::atomic<uint32_t> set{0};
    char reason[2044];
  };
  struct Head {
    RingCounters counters[4];
    Failure failures[2];
  };
  Head& head() const { return *reinterpret_cast<Head*>(mapping_.data()); }
  static constexpr size_t kHeadBytes = 8192;
  static_assert(sizeof(Head) <= kHeadBytes);

  Mapping mapping_;
  bool first_;
};

}  // namespace tw::comm
