// A block of memory that tensors share: what views alias, and whose version in-place ops advance.
#pragma once

#include <functional>

#include "base/intrusive.h"
#include "device/backend.h"
#include "eager/free_list.h"

namespace tw::eager {

class Storage final : public RefCounted, public FreeListed<Storage> {
 public:
  // Memory of a backend's allocator.
  Storage(device::Device device, size_t size_bytes);
  // Memory that somebody else owns (a NumPy array, a DLPack tensor); `release` runs when the last tensor is
  // gone.
  Storage(device::Device device, void* data, size_t size_bytes, std::function<void()> release);
  // No memory yet: what it holds is known only as values of a graph that is being recorded (see tracer.h).
  struct Symbolic {};
  Storage(device::Device device, size_t size_bytes, Symbolic);
  ~Storage() override;

  // Throws kRuntime for symbolic memory.
  void* data() const {
    if (symbolic_) [[unlikely]]
      fail_symbolic();
    return data_;
  }
  bool symbolic() const { return symbolic_; }
  // Symbolic memory becomes memory of the allocator, its elements unset.
  void materialize();
  size_t size_bytes() const { return size_bytes_; }
  device::Device device() const { return device_; }
  // Replaces the memory by a fresh block of another size, keeping the leading bytes.
  void resize(size_t size_bytes);

  // Advanced by every write through any tensor; saved values compare it.
  uint32_t version = 0;
  bool read_only = false;  // foreign memory that must not be written

 private:
  void free();
  [[noreturn]] static void fail_symbolic();
  device::Device device_;
  void* data_ = nullptr;
  size_t size_bytes_ = 0;
  std::function<void()> release_;
  bool foreign_ = false;
  bool symbolic_ = false;
};

}  // namespace tw::eager
