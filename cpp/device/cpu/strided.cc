#include "device/cpu/strided.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/error.h"

namespace tw::device::detail {

StridedSpace::StridedSpace(const Operand* const* operands, const uint8_t* element_size, int count)
    : operands_(count), element_size_(element_size) {
  TW_ASSERT(count, <=, kMaxStrided);
  collect(operands);
  order();
  merge();
}

StridedSpace::StridedSpace(const SmallVector<Dim, 4>& dims, char* const* data, const uint8_t* element_size,
                           int count, bool ordered)
    : operands_(count), element_size_(element_size) {
  std::copy_n(data, count, data_);
  for (const Dim& dim : dims) {
    count_ *= dim.size;
    if (dim.size != 1) dims_.push_back(dim);
  }
  if (!ordered) order();
  merge();
}

bool StridedSpace::is_dense(int operand) const {
  int64_t step = element_size_[operand];
  for (int d = rank() - 1; d >= 0; d--) {
    if (dims_[d].stride[operand] != step) return false;
    step = wrapping_product(step, dims_[d].size);
  }
  return true;
}

void StridedSpace::collect(const Operand* const* operands) {
  for (int k = 0; k < operands_; k++) data_[k] = operands[k]->as<char>();
  const Operand& first = *operands[0];
  int64_t rank = first.rank();
  for (int64_t d = 0; d < rank; d++) {
    Dim dim;
    dim.size = first.size(d);
    count_ = wrapping_product(count_, dim.size);
    for (int k = 0; k < operands_; k++) {
      int64_t shifted = d - (rank - operands[k]->rank());
      int64_t size = shifted < 0 ? 1 : operands[k]->size(shifted);
      TW_CHECK(size == dim.size || size == 1, kInternal,
               "a kernel got operands that do not broadcast: sizes ", *first.sizes, " and ",
               *operands[k]->sizes);
      dim.stride[k] = size == 1 ? 0 : wrapping_product(operands[k]->stride(shifted), element_size_[k]);
    }
    if (dim.size != 1) dims_.push_back(dim);
  }
}

void StridedSpace::order() {
  // Stable insertion sort: nearly always sorted already, and never long.
  auto inner = [this](const Dim& a, const Dim& b) {  // a belongs inside b
    for (int k = 0; k < operands_; k++) {
      if (a.stride[k] != b.stride[k]) return std::abs(a.stride[k]) < std::abs(b.stride[k]);
    }
    return false;
  };
  for (size_t i = 1; i < dims_.size(); i++) {
    for (size_t j = i; j > 0 && inner(dims_[j - 1], dims_[j]); j--) std::swap(dims_[j - 1], dims_[j]);
  }
}

void StridedSpace::merge() {
  size_t kept = 0;
  for (size_t i = 1; i < dims_.size(); i++) {
    Dim& outer = dims_[kept];
    const Dim& inner = dims_[i];
    bool even = true;
    for (int k = 0; k < operands_; k++) even &= outer.stride[k] == inner.stride[k] * inner.size;
    if (even) {
      int64_t size = outer.size * inner.size;
      outer = inner;
      outer.size = size;
    } else {
      dims_[++kept] = inner;
    }
  }
  if (!dims_.empty()) dims_.resize(kept + 1);
}

StridedCursor::StridedCursor(const StridedSpace& space, int64_t index) : space_(space), at_(space.rank()) {
  for (int d = space.rank() - 1; d >= 0 && index > 0; d--) {
    at_[d] = index % space.dim(d).size;
    index /= space.dim(d).size;
  }
}

int64_t StridedCursor::offset(int operand) const {
  int64_t bytes = 0;
  for (int d = 0; d < space_.rank(); d++) bytes += at_[d] * space_.dim(d).stride[operand];
  return bytes;
}

void StridedCursor::advance(int64_t n) {
  for (int d = space_.rank() - 1; d >= 0 && n > 0; d--) {
    int64_t size = space_.dim(d).size;
    at_[d] += n;
    if (at_[d] < size) return;
    n = at_[d] / size;
    at_[d] %= size;
  }
}

namespace {

template <class T, bool kScatter>
inline void move_run(char* strided, int64_t stride, int64_t n, T* dense) {
  if (!kScatter && stride == 0) {
    std::fill_n(dense, n, *reinterpret_cast<const T*>(strided));
    return;
  }
  for (int64_t i = 0; i < n; i++) {
    T* element = reinterpret_cast<T*>(strided + i * stride);
    if constexpr (kScatter)
      *element = dense[i];
    else
      dense[i] = *element;
  }
}

}  // namespace

template <class T, bool kScatter>
void StridedCursor::move_as(int operand, int64_t n, T* dense, int64_t shift_bytes) const {
  char* strided = data(operand) + shift_bytes;
  int last = space_.rank() - 1;
  int64_t stride = space_.inner_stride(operand), size = space_.inner_size();
  Dims at = at_;
  for (int64_t run = std::min(n, row_left());; run = std::min(n, size)) {
    move_run<T, kScatter>(strided, stride, run, dense);
    dense += run;
    n -= run;
    if (n == 0) return;
    // Back to the row's start, then on to the next row; `last` is a real dim here, since rows remain.
    strided -= at[last] * stride;
    at[last] = 0;
    for (int d = last - 1; d >= 0; d--) {
      strided += space_.dim(d).stride[operand];
      if (++at[d] < space_.dim(d).size) break;
      strided -= at[d] * space_.dim(d).stride[operand];
      at[d] = 0;
    }
  }
}

void StridedCursor::move(int operand, int64_t n, char* dense, bool scatter, int64_t shift_bytes) const {
  auto move_sized = [&]<class T>() {
    if (scatter)
      move_as<T, true>(operand, n, reinterpret_cast<T*>(dense), shift_bytes);
    else
      move_as<T, false>(operand, n, reinterpret_cast<T*>(dense), shift_bytes);
  };
  int size = space_.element_size(operand);
  bool one_run = n <= row_left();
  if (one_run && space_.inner_stride(operand) == size) {
    char* strided = data(operand) + shift_bytes;
    scatter ? std::memcpy(strided, dense, n * size) : std::memcpy(dense, strided, n * size);
    return;
  }
  switch (size) {
    case 1:
      return move_sized.template operator()<uint8_t>();
    case 2:
      return move_sized.template operator()<uint16_t>();
    case 4:
      return move_sized.template operator()<uint32_t>();
    case 8:
      return move_sized.template operator()<uint64_t>();
    default:
      return move_sized.template operator()<Bytes16>();
  }
}

}  // namespace tw::device::detail
