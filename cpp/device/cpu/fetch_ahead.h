// Memory that a thread will need next, fetched bit by bit while it computes: a processor waits for many lines
// at once no less than for one, so that they are asked for a few at a time between pieces of arithmetic.
#pragma once

#include <cstdint>

namespace tw::device {

class FetchAhead {
 public:
  static constexpr int64_t kPiece = 256;  // elements of work between fetches

  void clear() { count_ = next_ = 0; }
  void add(const char* begin, int64_t bytes) {
    if (count_ < kMost && bytes > 0) ranges_[count_++] = {begin, begin + bytes};
  }
  void set_lines(int64_t lines) { lines_ = lines; }  // in a step

  // The thread's; null where nothing is to be fetched.
  static FetchAhead* current() { return current_; }
  static void set_current(FetchAhead* ahead) { current_ = ahead; }

  // After a piece of work.
  void step() {
    for (int64_t left = lines_; left > 0 && next_ < count_; left--) {
      Range& range = ranges_[next_];
      __builtin_prefetch(range.at, 0, 2);
      range.at += kLine;
      if (range.at >= range.end) next_++;
    }
  }

 private:
  static constexpr int kMost = 8;
  static constexpr int64_t kLine = 64;
  struct Range {
    const char *at, *end;
  };
  Range ranges_[kMost];
  int count_ = 0, next_ = 0;
  int64_t lines_ = 0;
  static thread_local FetchAhead* current_ __attribute__((tls_model("initial-exec")));
};

}  // namespace tw::device
