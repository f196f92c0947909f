// Memory of a device while a boxing runs.
#pragma once

#include <utility>

#include "device/accelerator.h"

namespace tw::boxing {

// Freed at once when it goes, which in the order of the device's current stream is after what was queued.
class DeviceMemory {
 public:
  DeviceMemory(device::Device device, size_t size_bytes)
      : device_(device),
        size_bytes_(size_bytes),
        data_(device::backend_of(device).allocate(size_bytes, device.index)) {}
  DeviceMemory(DeviceMemory&& other) noexcept
      : device_(other.device_), size_bytes_(other.size_bytes_), data_(std::exchange(other.data_, nullptr)) {}
  DeviceMemory& operator=(DeviceMemory&&) = delete;
  ~DeviceMemory() {
    if (data_) device::backend_of(device_).free(data_, size_bytes_, device_.index);
  }
  void* get() const { return data_; }

 private:
  device::Device device_;
  size_t size_bytes_;
  void* data_;
};

}  // namespace tw::boxing
