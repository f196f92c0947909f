// An operand as contiguous memory of one type, copied (and converted) only where it is not that already.
#pragma once

#include <utility>

#include "device/cpu/caching_allocator.h"
#include "device/cpu/cast.h"

namespace tw::device {

template <class T>
class Dense {
 public:
  Dense() = default;
  explicit Dense(const Operand& operand) {
    if (operand.present()) take(operand, *operand.sizes);
  }
  // Broadcast to `sizes` and in that order.
  Dense(const Operand& operand, const Dims& sizes) {
    if (operand.present()) take(operand, sizes);
  }
  Dense(const Dense&) = delete;
  Dense& operator=(const Dense&) = delete;
  ~Dense() {
    if (owned_) CachingAllocator::get().free(owned_, bytes_);
  }
  // Null for an operand that is absent.
  const stored_t<T>* data() const { return data_; }
  stored_t<T> operator[](int64_t i) const { return data_[i]; }

 private:
  void take(const Operand& operand, const Dims& sizes) {
    if (operand.dtype == dtype_of<T> && operand.contiguous() && *operand.sizes == sizes) {
      data_ = operand.as<stored_t<T>>();
      return;
    }
    bytes_ = numel(sizes) * static_cast<int64_t>(sizeof(T));
    owned_ = CachingAllocator::get().allocate(bytes_);
    data_ = static_cast<const stored_t<T>*>(owned_);
    Dims strides = contiguous_strides(sizes);
    copy_cast({owned_, &sizes, &strides, dtype_of<T>}, operand);
  }

  const stored_t<T>* data_ = nullptr;
  void* owned_ = nullptr;
  int64_t bytes_ = 0;
};

// Uninitialised memory for `count` elements, from the allocator's cache.
template <class T>
class ScratchArray {
 public:
  explicit ScratchArray(int64_t count) : bytes_(count * static_cast<int64_t>(sizeof(T))) {
    if (bytes_ > 0) data_ = static_cast<T*>(CachingAllocator::get().allocate(bytes_));
  }
  ScratchArray(ScratchArray&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}
  ScratchArray(const ScratchArray&) = delete;
  ScratchArray& operator=(const ScratchArray&) = delete;
  ~ScratchArray() {
    if (data_) CachingAllocator::get().free(data_, bytes_);
  }
  T* data() const { return data_; }
  T& operator[](int64_t i) const { return data_[i]; }

 private:
  T* data_ = nullptr;
  int64_t bytes_;
};

}  // namespace tw::device
