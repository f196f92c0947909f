// A stream of bytes to one other process and one back. What is written in pieces is read in pieces of any
// size.
#pragma once

#include <cstddef>
#include <span>

namespace tw::comm {

constexpr size_t kAlign = 64;  // what is written one after the other begins at multiples of it
inline size_t padded(size_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

// One thread at a time uses a stream. Nothing here blocks.
class Stream {
 public:
  virtual ~Stream() = default;
  // Takes as much as there is room for; returns how much. The next write goes on with the rest, which stays
  // as it is until then: it may be on its way.
  virtual size_t write(const char* from, size_t size) = 0;
  // As much of a large piece as one write is to see, before other streams get their turn.
  virtual size_t reach() const { return 128 << 10; }
  // Whether what was written reaches the other side without more calls here; tries to bring that about.
  virtual bool flush() = 0;
  // What has come and was not consumed; looks for more when that is less than `least`.
  virtual std::span<const char> readable(size_t least = 1) = 0;
  virtual void consume(size_t size) = 0;
  // Copies what has come, up to `size` bytes; returns how much. The next read goes on after that: what comes
  // may be written there before.
  virtual size_t read(char* to, size_t size) = 0;
  // Nothing comes any more but what `readable` gives: the other process has closed the stream by ending.
  virtual bool ended() = 0;
};

}  // namespace tw::comm
