// Strided arrays for kernel tests: storage of their own, views of it, and element access by index.
#pragma once

#include <cstring>
#include <initializer_list>
#include <memory>
#include <random>
#include <vector>

#include "base/dims.h"
#include "device/kernel.h"

namespace tw::test {

// A tensor-like array: `storage` bytes and a view of them. Views made by permute/slice/expand share the
// storage.
struct Array {
  std::shared_ptr<std::vector<char>> storage;
  int64_t offset = 0;  // elements
  Dims sizes, strides;
  DType dtype;

  Array(DType type, const Dims& shape)
      : storage(std::make_shared<std::vector<char>>(numel(shape) * size_of(type) + 64)),
        sizes(shape),
        strides(contiguous_strides(shape)),
        dtype(type) {}

  device::Operand operand() const {
    return {storage->data() + offset * size_of(dtype), &sizes, &strides, dtype};
  }
  int64_t count() const { return numel(sizes); }
  // The element at row-major position `index`.
  char* at(int64_t index) const {
    int64_t position = offset;
    for (size_t d = sizes.size(); d-- > 0;) {
      position += index % sizes[d] * strides[d];
      index /= sizes[d];
    }
    return storage->data() + position * size_of(dtype);
  }
  template <class T>
  T& get(int64_t index) const {
    return *reinterpret_cast<T*>(at(index));
  }
  // The element that broadcasting to `shape` puts at its row-major position `index`.
  template <class T>
  T& get_broadcast(const Dims& shape, int64_t index) const {
    int64_t position = offset;
    size_t shift = shape.size() - sizes.size();
    for (size_t d = shape.size(); d-- > 0;) {
      if (d >= shift && sizes[d - shift] != 1) position += index % shape[d] * strides[d - shift];
      index /= shape[d];
    }
    return *reinterpret_cast<T*>(storage->data() + position * sizeof(T));
  }

  Array permuted(std::initializer_list<int> order) const {
    Array view = *this;
    size_t i = 0;
    for (int d : order) {
      view.sizes[i] = sizes[d];
      view.strides[i++] = strides[d];
    }
    return view;
  }
  Array sliced(int dim, int64_t start, int64_t stop, int64_t step) const {
    Array view = *this;
    view.offset += start * strides[dim];
    view.sizes[dim] = (stop - start + step - 1) / step;
    view.strides[dim] *= step;
    return view;
  }
  Array expanded(int dim, int64_t size) const {
    Array view = *this;
    view.sizes[dim] = size;
    view.strides[dim] = 0;
    return view;
  }
};

// Fills the whole storage with small whole numbers, exact in every dtype.
template <class T>
void fill_random(const Array& array, unsigned seed, int low = 0, int high = 7) {
  std::mt19937 generator(seed);
  std::uniform_int_distribution<int> draw(low, high);
  auto* data = reinterpret_cast<T*>(array.storage->data());
  for (size_t i = 0; i < (array.storage->size() - 64) / sizeof(T); i++)
    data[i] = static_cast<T>(draw(generator));
}

template <class T>
Array random_array(const Dims& shape, unsigned seed, int low = 0, int high = 7) {
  Array array(dtype_of<T>, shape);
  fill_random<T>(array, seed, low, high);
  return array;
}

}  // namespace tw::test
