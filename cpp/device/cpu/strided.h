// Several strided operands walked together: the shape they share, simplified, and moves between strided and
// contiguous memory.
#pragma once

#include <cstdint>

#include "base/small_vector.h"
#include "device/kernel.h"

namespace tw::device::detail {

inline constexpr int kMaxStrided = 8;

// Wraps: where there is one element along a dim, or none at all, sizes and strides may be of any magnitude.
inline int64_t wrapping_product(int64_t a, int64_t b) {
  int64_t product;
  (void)__builtin_mul_overflow(a, b, &product);
  return product;
}

// The iteration space of up to kMaxStrided operands broadcast to the first one's sizes. Dims of size 1 are
// dropped, the rest ordered by the first operand's strides (outermost first), and neighbours merged where
// every operand lies evenly over both.
class StridedSpace {
 public:
  struct Dim {
    int64_t size;
    int64_t stride[kMaxStrided];  // bytes; 0 where the operand is broadcast
  };

  // Throws kInternal when an operand does not broadcast to the first.
  StridedSpace(const Operand* const* operands, const uint8_t* element_size, int count);
  // From dims with strides in bytes, those of size 1 included; `ordered` keeps their order.
  StridedSpace(const SmallVector<Dim, 4>& dims, char* const* data, const uint8_t* element_size, int count,
               bool ordered = false);

  int rank() const { return static_cast<int>(dims_.size()); }
  int64_t count() const { return count_; }  // elements
  int operands() const { return operands_; }
  const Dim& dim(int i) const { return dims_[i]; }
  // A space without dims has one element: an inner dim of size 1.
  int64_t inner_size() const { return dims_.empty() ? 1 : dims_.back().size; }
  int64_t inner_stride(int operand) const { return dims_.empty() ? 0 : dims_.back().stride[operand]; }
  int element_size(int operand) const { return element_size_[operand]; }
  char* data(int operand) const { return data_[operand]; }
  // True when the elements follow each other in memory through the whole space.
  bool is_dense(int operand) const;

 private:
  void collect(const Operand* const* operands);
  void order();
  void merge();

  SmallVector<Dim, 4> dims_;
  int64_t count_ = 1;
  int operands_;
  const uint8_t* element_size_;
  char* data_[kMaxStrided];
};

// A position in a space, advanced in row-major order.
class StridedCursor {
 public:
  StridedCursor(const StridedSpace& space, int64_t index);
  // Elements left in the innermost row.
  int64_t row_left() const { return space_.inner_size() - (at_.empty() ? 0 : at_.back()); }
  int64_t offset(int operand) const;  // bytes
  char* data(int operand) const { return space_.data(operand) + offset(operand); }
  void advance(int64_t n);

  // Copies the next n elements of `operand`, `shift_bytes` further on, into contiguous memory, or from it
  // when `scatter`; does not advance.
  void move(int operand, int64_t n, char* dense, bool scatter, int64_t shift_bytes = 0) const;

 private:
  template <class T, bool kScatter>
  void move_as(int operand, int64_t n, T* dense, int64_t shift_bytes) const;

  const StridedSpace& space_;
  Dims at_;
};

}  // namespace tw::device::detail
