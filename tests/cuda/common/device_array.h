// Device memory for tests of small kernels.
#pragma once

#include <vector>

#include "cuda/common/launch.h"

namespace tw::cuda {

// Holds `count` elements: the given ones, or unset.
template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(size_t count) : count_(count) {
    check(cudaMalloc(reinterpret_cast<void**>(&data_), sizeof(T) * count), "DeviceArray");
  }
  explicit DeviceArray(const std::vector<T>& values) : DeviceArray(values.size()) {
    check(cudaMemcpyAsync(data_, values.data(), sizeof(T) * count_, cudaMemcpyDefault, nullptr),
          "DeviceArray");
  }
  ~DeviceArray() { cudaFree(data_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  T* data() const { return data_; }
  std::vector<T> values() const {
    std::vector<T> result(count_);
    check(cudaMemcpyAsync(result.data(), data_, sizeof(T) * count_, cudaMemcpyDefault, nullptr),
          "DeviceArray");
    return result;
  }

 private:
  size_t count_;
  T* data_ = nullptr;
};

// `count` whole numbers around 0, which go round after `range`: sums of products of them are exact.
template <class T>
std::vector<T> whole_numbers(int count, int step, int range) {
  std::vector<T> result;
  for (int i = 0; i < count; i++) result.push_back(T(static_cast<float>(i * step % range - range / 2)));
  return result;
}

}  // namespace tw::cuda
