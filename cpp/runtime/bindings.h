// What a run is given: addresses of the segments that are bound in every run, numbers, and where the random
// draws begin.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/philox.h"
#include "base/scalar.h"
#include "plan/plan.h"

namespace tw::runtime {

// Addresses by index within their kind. The spans are copied when the run starts; the memory must stay until
// the run is done.
struct Bindings {
  std::span<void* const> inputs, variables, constants, outputs;
  std::span<const Scalar> numbers;
  uint64_t seed = 0;
  uint64_t first_draw = 0;               // the run takes Plan::draws of them from here
  std::span<const PhiloxKey> keys = {};  // of each draw, where they come from several generators; else empty
};

// The same by segment, in memory that is kept from run to run.
struct StepBindings {
  std::vector<char*> bases;  // arenas too
  std::vector<Scalar> numbers;
  uint64_t seed = 0;
  uint64_t first_draw = 0;
  std::vector<PhiloxKey> keys;
  int64_t part = -1;  // of a batch: which one this is; -1: the whole
};

// Where each segment's address comes from.
class BindingLayout {
 public:
  explicit BindingLayout(const plan::Plan& plan);
  // Copies; allocates only the first time. Throws kValue when a count differs or an address is missing.
  void fill(const Bindings& from, StepBindings* to) const;

 private:
  struct Slot {
    int segment;
    bool needed;  // it has bytes
  };
  std::vector<Slot> slots_[5];  // by kind, in the order of indices
  size_t segments_ = 0, numbers_ = 0;
};

}  // namespace tw::runtime
