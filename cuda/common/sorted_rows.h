// Rows of unsigned keys put in order, and where each key stood. What sort, top-k, unique and everything that
// adds at repeated places go through: sorting keys, never elements, makes one kernel serve all dtypes.
#pragma once

#include <memory>

#include "base/dims.h"
#include "cuda/common/platform.h"
#include "cuda/device/scratch.h"

namespace tw::cuda {

// K: uint32_t or uint64_t. The caller writes keys() [rows, length], then sorts. Equal keys keep their order.
// Defined in ops/ordering/sort.cu.
template <class K>
class SortedRows {
 public:
  // Throws kNotImplemented naming `op` for 2^31 keys or more.
  SortedRows(int64_t rows, int64_t length, const char* op);

  K* keys() const { return keys_->template as<K>(); }
  // Of each sorted key: its place in the row before.
  uint32_t* places() const { return places_->template as<uint32_t>(); }
  int64_t rows() const { return rows_; }
  int64_t length() const { return length_; }

  // By the lowest `bits` bits of the keys, the others must be 0; on the current stream.
  void sort(int bits);

 private:
  void sort_in_blocks();
  void sort_by_digits(int bits);

  int64_t rows_, length_;
  const char* op_;
  std::unique_ptr<DeviceScratch> keys_, places_;
};

// Strides of memory that holds the rows along `dim` one after the other, in row-major order of the other
// dims.
inline Dims lines_of(const Dims& sizes, int64_t dim) {
  Dims strides(sizes.size());
  int64_t next = sizes.empty() ? 1 : sizes[dim];
  for (auto d = static_cast<int64_t>(sizes.size()) - 1; d >= 0; d--) {
    strides[d] = d == dim ? 1 : next;
    if (d != dim) next *= sizes[d];
  }
  return strides;
}

// The first place in [first, last) of sorted keys that is not below `key`.
template <class K>
TW_DEVICE int64_t count_below(const K* keys, int64_t first, int64_t last, K key) {
  while (first < last) {
    int64_t middle = first + (last - first) / 2;
    if (keys[middle] < key)
      first = middle + 1;
    else
      last = middle;
  }
  return first;
}

}  // namespace tw::cuda
