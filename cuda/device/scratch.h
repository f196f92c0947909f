// Memory of the current device that a kernel needs while it runs: freed at once, which in the order of the
// stream is after what was launched before.
#pragma once

#include <cstddef>

#include "cuda/device/cuda_backend.h"

namespace tw::cuda {

class DeviceScratch {
 public:
  explicit DeviceScratch(size_t size_bytes)
      : device_(backend().current_device()),
        size_bytes_(size_bytes),
        data_(backend().allocate(size_bytes, device_)) {}
  ~DeviceScratch() { backend().free(data_, size_bytes_, device_); }
  DeviceScratch(const DeviceScratch&) = delete;
  DeviceScratch& operator=(const DeviceScratch&) = delete;

  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  int device_;
  size_t size_bytes_;
  void* data_;
};

}  // namespace tw::cuda
