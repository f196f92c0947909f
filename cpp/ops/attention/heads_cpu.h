// Where the rows of heads lie.
#pragma once

#include "device/cpu/contiguous.h"
#include "device/cpu/gemm.h"
#include "device/cpu/scratch.h"

namespace tw::ops {

using device::Matrix;
using device::Operand;
using device::Scratch;

// A [B, L, H, E] operand with E dense; copied (and widened) where it is not of T or not so.
template <class T>
class Heads {
 public:
  explicit Heads(const Operand& o)
      : length(o.size(1)), size(o.size(3)), data_(o.as<T>()), strides_(*o.strides) {
    bool dense =
        o.dtype == dtype_of<T> && (o.stride(3) == 1 || size == 1) && (o.stride(1) >= size || length == 1);
    if (dense) return;
    copy_ = Scratch(static_cast<size_t>(o.count()) * sizeof(T));
    strides_ = contiguous_strides(*o.sizes);
    copy_cast({copy_.get(), o.sizes, &strides_, dtype_of<T>}, o);
    data_ = copy_.as<T>();
  }
  Heads(T* data, const Dims& sizes)
      : length(sizes[1]), size(sizes[3]), data_(data), strides_(contiguous_strides(sizes)) {}

  int64_t length, size;
  T* row(int64_t batch, int64_t head, int64_t row) const {
    return data_ + batch * strides_[0] + row * strides_[1] + head * strides_[2];
  }
  int64_t step() const { return strides_[1]; }
  Matrix<T> rows(int64_t b, int64_t h, int64_t from) const { return {row(b, h, from), step(), 1}; }
  Matrix<T> columns(int64_t b, int64_t h, int64_t from) const { return {row(b, h, from), 1, step()}; }

 private:
  Scratch copy_;
  T* data_;
  Dims strides_;
};

}  // namespace tw::ops
