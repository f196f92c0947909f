#include "eager/storage.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace tw::eager {

namespace {
device::Backend& backend_of(device::Device device) {
  TW_CHECK(device.type == device::DeviceType::kCpu, kDevice, "there is no backend for device ", device);
  return device::cpu_backend();
}
}  // namespace

Storage::Storage(device::Device device, size_t size_bytes)
    : device_(device),
      data_(backend_of(device).allocate(size_bytes, device.index)),
      size_bytes_(size_bytes) {}

Storage::Storage(device::Device device, void* data, size_t size_bytes, std::function<void()> release)
    : device_(device), data_(data), size_bytes_(size_bytes), release_(std::move(release)), foreign_(true) {}

Storage::Storage(device::Device device, size_t size_bytes, Symbolic)
    : device_(device), size_bytes_(size_bytes), symbolic_(true) {}

Storage::~Storage() { free(); }

void Storage::materialize() {
  data_ = backend_of(device_).allocate(size_bytes_, device_.index);
  symbolic_ = false;
}

void Storage::fail_symbolic() {
  TW_FAIL(
      kRuntime,
      "the elements of a tensor in a traced function are not known while it is traced: they cannot be read, "
      "converted to Python numbers or given to other libraries");
}

void Storage::free() {
  if (symbolic_) return;
  if (foreign_) {
    if (release_) release_();
  } else {
    backend_of(device_).free(data_, size_bytes_, device_.index);
  }
}

void Storage::resize(size_t size_bytes) {
  if (symbolic_) fail_symbolic();
  void* fresh = backend_of(device_).allocate(size_bytes, device_.index);
  std::memcpy(fresh, data_, std::min(size_bytes, size_bytes_));
  free();
  data_ = fresh;
  size_bytes_ = size_bytes;
  foreign_ = false;
  release_ = nullptr;
}

}  // namespace tw::eager
