// Float memory for every bound segment of a plan.
#pragma once

#include <vector>

#include "runtime/bindings.h"

namespace tw::test {

class RunMemory {
 public:
  explicit RunMemory(const plan::Plan& plan) {
    for (const plan::Segment& segment : plan.segments) {
      auto& arrays = arrays_[static_cast<int>(segment.kind)];
      if (static_cast<int>(arrays.size()) <= segment.index) arrays.resize(segment.index + 1);
      arrays[segment.index].resize(segment.size_bytes / 4);
    }
    numbers.assign(plan.numbers.size(), Scalar(1.0));
  }
  std::vector<float>& array(plan::SegmentKind kind, int i) { return arrays_[static_cast<int>(kind)][i]; }
  size_t count(plan::SegmentKind kind) const { return arrays_[static_cast<int>(kind)].size(); }
  std::vector<float>& input(int i) { return array(plan::SegmentKind::kInput, i); }
  std::vector<float>& variable(int i) { return array(plan::SegmentKind::kVariable, i); }
  std::vector<float>& output(int i) { return array(plan::SegmentKind::kOutput, i); }

  runtime::Bindings bindings() {
    for (int kind = 0; kind < 5; kind++) {
      addresses_[kind].clear();
      for (auto& array : arrays_[kind]) addresses_[kind].push_back(array.data());
    }
    return {addresses_[1], addresses_[2], addresses_[3], addresses_[4], numbers, seed, first_draw};
  }
  std::vector<Scalar> numbers;
  uint64_t seed = 0, first_draw = 0;

 private:
  std::vector<std::vector<float>> arrays_[5];
  std::vector<void*> addresses_[5];
};

}  // namespace tw::test
