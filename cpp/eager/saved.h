// A tensor kept for backward, with the version it had.
#pragma once

#include "eager/tensor.h"

namespace tw::eager {

class SavedTensor {
 public:
  SavedTensor() = default;
  // An output of the node that saves it is kept off the tape, or node and tensor would own each other.
  SavedTensor(const Tensor& tensor, bool is_output);

  // Throws kRuntime when an in-place op has changed the tensor since. `owner` is the node that made an
  // output.
  Tensor unpack(const Ref<Node>& owner, const char* op) const;
  void reset() { tensor_ = nullptr; }
  explicit operator bool() const { return static_cast<bool>(tensor_); }

 private:
  Tensor tensor_;
  uint32_t version_ = 0;
  uint32_t output_nr_ = 0;
  bool is_output_ = false;
};

}  // namespace tw::eager
