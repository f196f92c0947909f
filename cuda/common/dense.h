// An operand as memory without gaps, of a dtype that the kernel wants.
#pragma once

#include <memory>

#include "cuda/common/copy.h"
#include "cuda/device/scratch.h"

namespace tw::cuda {

// Row-major memory of T: the operand's own where it is that already, else a copy on the current stream. Null
// data for an operand that is not present.
template <class T>
class Dense {
 public:
  Dense(const device::Operand& given, const char* op) : data_(given.data) {
    if (!given.present()) {
      data_ = nullptr;
    } else if (given.dtype != dtype_of<T> || !given.contiguous()) {
      Dims strides = contiguous_strides(*given.sizes);
      copy_ = std::make_unique<DeviceScratch>(static_cast<size_t>(given.count()) * sizeof(T));
      data_ = copy_->as<void>();
      copy_cast({data_, given.sizes, &strides, dtype_of<T>}, given, op);
    }
  }
  T* data() const { return static_cast<T*>(data_); }

 private:
  std::unique_ptr<DeviceScratch> copy_;
  void* data_;
};

}  // namespace tw::cuda
