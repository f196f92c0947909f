// Where the elements of a mask hold, in order. Defined in ops/indexing/nonzero.cu.
#pragma once

#include "base/dims.h"
#include "cuda/device/scratch.h"

namespace tw::cuda {

inline constexpr int kMostDims = 16;

class Holding {
 public:
  // `truth` is read again by write(). Waits for the device.
  Holding(const uint8_t* truth, int64_t count, const char* op);
  int64_t total() const { return total_; }
  // Their positions [total, rank] in a row-major tensor of these sizes.
  void write(const Dims& sizes, int64_t* out) const;

 private:
  const uint8_t* truth_;
  int64_t count_;
  const char* op_;
  DeviceScratch before_;
  int64_t total_ = 0;
};

}  // namespace tw::cuda
