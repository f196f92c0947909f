// An operand of the dtype and in the order of memory that a kernel or a library wants.
#pragma once

#include <memory>

#include "base/memory_order.h"
#include "cuda/common/copy.h"
#include "cuda/device/scratch.h"

namespace tw::cuda {

inline bool lies_channels_last(const device::Operand& o) { return is_channels_last(*o.sizes, *o.strides); }

// Its own memory where it lies without gaps and is as wanted, else a buffer, which an input fills and a
// result is stored from. The operand's sizes have to outlive it.
class Laid {
 public:
  enum Use { kInput, kResult };

  Laid(const device::Operand& o, DType dtype, bool channels_last, Use use, const char* op)
      : given_(o),
        dtype_(dtype),
        strides_(channels_last ? channels_last_strides(*o.sizes) : contiguous_strides(*o.sizes)),
        data_(o.data) {
    if (o.dtype == dtype && same_walk(*o.sizes, *o.strides, strides_)) return;
    buffer_ = std::make_unique<DeviceScratch>(static_cast<size_t>(o.count()) * size_of(dtype));
    data_ = buffer_->as<void>();
    if (use == kInput) copy_cast(operand(), given_, op);
  }
  Laid(const Laid&) = delete;
  Laid& operator=(const Laid&) = delete;

  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }
  device::Operand operand() const { return {data_, given_.sizes, &strides_, dtype_}; }
  void store(const char* op) const {
    if (buffer_) copy_cast(given_, operand(), op);
  }

 private:
  device::Operand given_;
  DType dtype_;
  Dims strides_;
  std::unique_ptr<DeviceScratch> buffer_;
  void* data_;
};

}  // namespace tw::cuda
