// A short sequence of numbers that look random and are the same everywhere: Steele, Lea and Flood's
// SplitMix64 (2014).
#pragma once

#include <cstdint>

namespace tw::planner {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  // In [0, bound), bound at most 2^31.
  int64_t below(int64_t bound) {
    return static_cast<int64_t>((next() >> 33) * static_cast<uint64_t>(bound) >> 31);
  }

 private:
  uint64_t state_;
};

}  // namespace tw::planner
