#include "device/cpu/rows.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "device/cpu/caching_allocator.h"
#include "device/cpu/parallel.h"
#include "device/cpu/strided.h"

namespace tw::device {

namespace {

constexpr int kMaxRowOperands = detail::kMaxStrided;
constexpr int64_t kRowsAtOnce = 16;  // strided rows gathered together, so that whole cache lines are used
constexpr int64_t kGrainBytes = 192 << 10;

// Memory for the rows of one operand, from the allocator's cache.
class Scratch {
 public:
  Scratch() = default;
  explicit Scratch(int64_t bytes)
      : data_(static_cast<char*>(CachingAllocator::get().allocate(bytes))), bytes_(bytes) {}
  Scratch(Scratch&& other) noexcept : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}
  Scratch& operator=(Scratch&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Scratch() {
    if (data_) CachingAllocator::get().free(data_, bytes_);
  }
  char* data() const { return data_; }

 private:
  char* data_ = nullptr;
  int64_t bytes_ = 0;
};

// Along the rows of one operand.
struct RowShape {
  int64_t size = 1, stride_bytes = 0, element = 1;
  bool direct() const { return size <= 1 || stride_bytes == element; }
  int64_t bytes() const { return size * element; }
};

template <class T, bool kScatter>
void move_rows_as(const RowShape& shape, char* strided, int64_t row_step, int64_t rows, char* dense) {
  for (int64_t i = 0; i < shape.size; i++) {
    for (int64_t r = 0; r < rows; r++) {
      T* there = reinterpret_cast<T*>(strided + i * shape.stride_bytes + r * row_step);
      T* here = reinterpret_cast<T*>(dense) + r * shape.size + i;
      kScatter ? (void)(*there = *here) : (void)(*here = *there);
    }
  }
}

void move_rows(DType dtype, const RowShape& shape, char* strided, int64_t row_step, int64_t rows, char* dense,
               bool scatter) {
  dispatch_bytes(dtype, [&]<class T>() {
    if (scatter)
      move_rows_as<T, true>(shape, strided, row_step, rows, dense);
    else
      move_rows_as<T, false>(shape, strided, row_step, rows, dense);
  });
}

class RowRunner {
 public:
  RowRunner(std::span<const Operand* const> operands, int outputs, int64_t dim,
            FunctionRef<void(int64_t, char* const*)> body)
      : operands_(operands), outputs_(outputs), count_(static_cast<int>(operands.size())), body_(body) {
    TW_ASSERT(count_, <=, kMaxRowOperands);
    for (int k = 0; k < count_; k++) {
      const Operand& operand = *operands[k];
      element_[k] = static_cast<uint8_t>(size_of(operand.dtype));
      RowShape& shape = shapes_[k];
      shape.element = element_[k];
      if (operand.rank() > 0) {
        shape.size = operand.size(dim);
        shape.stride_bytes = operand.stride(dim) * element_[k];
      }
      all_direct_ &= shape.direct();
      row_bytes_ += shape.bytes();
    }
  }

  void run(int64_t dim) {
    SmallVector<detail::StridedSpace::Dim, 4> dims;
    char* data[kMaxRowOperands];
    for (int k = 0; k < count_; k++) data[k] = operands_[k]->as<char>();
    for (int64_t d = 0; d < operands_[0]->rank(); d++) {
      if (d == dim) continue;
      detail::StridedSpace::Dim entry;
      entry.size = operands_[0]->size(d);
      for (int k = 0; k < count_; k++) {
        TW_ASSERT(operands_[k]->size(d), ==, entry.size);
        entry.stride[k] = operands_[k]->stride(d) * element_[k];
      }
      dims.push_back(entry);
    }
    detail::StridedSpace space(dims, data, element_, count_, /*ordered=*/true);
    int64_t grain = std::max<int64_t>(1, kGrainBytes / std::max<int64_t>(1, row_bytes_));
    parallel_for(0, space.count(), grain, [&](int64_t first, int64_t last) {
      if (all_direct_)
        run_direct(space, first, last);
      else
        run_gathered(space, first, last);
    });
  }

 private:
  void run_direct(const detail::StridedSpace& space, int64_t first, int64_t last) const {
    char* data[kMaxRowOperands];
    detail::StridedCursor at(space, first);
    for (int64_t row = first; row < last; row++, at.advance(1)) {
      for (int k = 0; k < count_; k++) data[k] = at.data(k);
      body_(row, data);
    }
  }

  void run_gathered(const detail::StridedSpace& space, int64_t first, int64_t last) const {
    Scratch scratch[kMaxRowOperands];
    for (int k = 0; k < count_; k++) {
      if (!shapes_[k].direct()) scratch[k] = Scratch(kRowsAtOnce * shapes_[k].bytes());
    }
    detail::StridedCursor at(space, first);
    for (int64_t row = first; row < last;) {
      int64_t rows = std::min({kRowsAtOnce, at.row_left(), last - row});
      run_some(space, at, row, rows, scratch);
      at.advance(rows);
      row += rows;
    }
  }

  void run_some(const detail::StridedSpace& space, const detail::StridedCursor& at, int64_t row, int64_t rows,
                const Scratch* scratch) const {
    char* data[kMaxRowOperands];
    for (int k = outputs_; k < count_; k++) {
      if (scratch[k].data())
        move_rows(operands_[k]->dtype, shapes_[k], at.data(k), space.inner_stride(k), rows, scratch[k].data(),
                  false);
    }
    for (int64_t r = 0; r < rows; r++) {
      for (int k = 0; k < count_; k++) {
        data[k] = scratch[k].data() ? scratch[k].data() + r * shapes_[k].bytes()
                                    : at.data(k) + r * space.inner_stride(k);
      }
      body_(row + r, data);
    }
    for (int k = 0; k < outputs_; k++) {
      if (scratch[k].data())
        move_rows(operands_[k]->dtype, shapes_[k], at.data(k), space.inner_stride(k), rows, scratch[k].data(),
                  true);
    }
  }

  std::span<const Operand* const> operands_;
  int outputs_, count_;
  FunctionRef<void(int64_t, char* const*)> body_;
  RowShape shapes_[kMaxRowOperands];
  uint8_t element_[kMaxRowOperands];
  bool all_direct_ = true;
  int64_t row_bytes_ = 0;
};

}  // namespace

void run_rows(std::span<const Operand* const> operands, int outputs, int64_t dim,
              FunctionRef<void(int64_t, char* const*)> body) {
  RowRunner(operands, outputs, dim, body).run(dim);
}

}  // namespace tw::device
