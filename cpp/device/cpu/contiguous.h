// For kernels that want row-major memory of one type whatever their operands are.
#pragma once

#include "device/cpu/cast.h"
#include "device/cpu/scratch.h"

namespace tw::device {

// The memory of an operand as contiguous T: its own where it lies so.
template <class T>
class Contiguous {
 public:
  explicit Contiguous(const Operand& o) : data_(o.as<T>()) {
    if (o.dtype == dtype_of<T> && o.contiguous()) return;
    copy_ = Scratch(static_cast<size_t>(o.count()) * sizeof(T));
    Dims strides = contiguous_strides(*o.sizes);
    copy_cast({copy_.get(), o.sizes, &strides, dtype_of<T>}, o);
    data_ = copy_.as<T>();
  }
  T* data() const { return data_; }

 private:
  Scratch copy_;
  T* data_;
};

// The memory of a contiguous output as T, and its conversion when all is done.
template <class T>
class ConvertedResult {
 public:
  explicit ConvertedResult(const Operand& out) : out_(out), data_(out.as<T>()) {
    if (out.dtype == dtype_of<T>) return;
    wide_ = Scratch(static_cast<size_t>(out.count()) * sizeof(T));
    data_ = wide_.as<T>();
  }
  T* data() const { return data_; }
  void finish() {
    if (out_.dtype != dtype_of<T>) copy_cast(out_, {data_, out_.sizes, out_.strides, dtype_of<T>});
  }

 private:
  const Operand& out_;
  Scratch wide_;
  T* data_;
};

}  // namespace tw::device
