// Tensors that belong together, element by element, as memory in one order; host side of tensor_lists.h.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "cuda/device/scratch.h"
#include "device/kernel.h"

namespace tw::cuda {

// Whether the tensors of a tuple lie without gaps and in the same order, so that their elements belong
// together by their places in memory.
bool lie_alike(std::span<const std::span<const device::Operand>> lists, size_t tuple);

// Row-major copies of tensors, on the current stream.
class TupleCopies {
 public:
  explicit TupleCopies(const char* op) : op_(op) {}
  // A copy that lives until give_back(), which copies it back where the tensor is written.
  void* add(const device::Operand& tensor, bool written);
  void give_back();

 private:
  struct Copy {
    const device::Operand* tensor;
    bool written;
    Dims strides;
    std::unique_ptr<DeviceScratch> memory;
    device::Operand operand() const { return {memory->as<void>(), tensor->sizes, &strides, tensor->dtype}; }
  };
  const char* op_;
  std::vector<Copy> copies_;
};

}  // namespace tw::cuda
