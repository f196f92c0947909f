// Memory that a kernel needs while it runs, from the caching allocator: warm from call to call, counted, and
// refused with an exception where there is none.
#pragma once

#include <utility>

#include "device/cpu/caching_allocator.h"

namespace tw::device {

class Scratch {
 public:
  Scratch() = default;
  explicit Scratch(size_t bytes) : data_(CachingAllocator::get().allocate(bytes)), bytes_(bytes) {}
  Scratch(Scratch&& other) noexcept : data_(other.data_), bytes_(other.bytes_) { other.data_ = nullptr; }
  Scratch& operator=(Scratch&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Scratch() {
    if (data_) CachingAllocator::get().free(data_, bytes_);
  }
  void* get() const { return data_; }
  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace tw::device
