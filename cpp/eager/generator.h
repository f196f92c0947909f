// The source of random keys: counts draws, so that the same seed gives the same numbers in the same order of
// calls.
#pragma once

#include <mutex>

#include "base/intrusive.h"
#include "base/philox.h"

namespace tw::eager {

class Generator : public RefCounted {
 public:
  explicit Generator(uint64_t seed) : seed_(seed) {}
  PhiloxKey next_draw() {
    std::lock_guard lock(mutex_);
    return {seed_, draws_++};
  }
  // The first of `count` draws that are taken at once.
  PhiloxKey next_draws(uint64_t count) {
    std::lock_guard lock(mutex_);
    PhiloxKey first{seed_, draws_};
    draws_ += count;
    return first;
  }
  void set_state(uint64_t seed, uint64_t draws) {
    std::lock_guard lock(mutex_);
    seed_ = seed;
    draws_ = draws;
  }
  uint64_t seed() const { return seed_; }
  uint64_t draws() const { return draws_; }

 private:
  std::mutex mutex_;
  uint64_t seed_;
  uint64_t draws_ = 0;
};

Generator& default_generator();

}  // namespace tw::eager
