#include "device/cpu/loops.h"

#include <algorithm>

#include "device/cpu/fetch_ahead.h"
#include "device/cpu/parallel.h"
#include "device/cpu/strided.h"

namespace tw::device {

thread_local FetchAhead* FetchAhead::current_ __attribute__((tls_model("initial-exec"))) = nullptr;

}  // namespace tw::device

namespace tw::device::detail {

static_assert(kMaxOperands == kMaxStrided);

namespace {

constexpr int64_t kBlock = 512;    // elements in a buffer
constexpr int64_t kLongRow = 128;  // rows this long are worked on one by one, shorter ones through buffers
constexpr int kMaxElement = 16;

// The usual case: every operand is contiguous with the sizes of the output, or holds one element.
struct Dense {
  int64_t count = 1;
  bool scalar[kMaxOperands] = {};
  bool any_scalar = false;
};

bool holds_one(const Operand& operand) {
  for (int64_t size : *operand.sizes) {
    if (size != 1) return false;
  }
  return true;
}

bool find_dense(const PointwiseLoop& loop, const Operand* const* operands, Dense* dense) {
  const Dims& sizes = *operands[0]->sizes;
  for (int k = 1; k < loop.count; k++) {
    if (operands[k]->sizes == &sizes || *operands[k]->sizes == sizes) continue;
    if (!holds_one(*operands[k])) return false;
    dense->scalar[k] = dense->any_scalar = true;
  }
  for (int64_t d = static_cast<int64_t>(sizes.size()) - 1; d >= 0; d--) {
    if (sizes[d] == 1) continue;
    for (int k = 0; k < loop.count; k++) {
      if (!dense->scalar[k] && (*operands[k]->strides)[d] != dense->count) return false;
    }
    dense->count *= sizes[d];
  }
  return true;
}

template <class T>
void fill_as(char* buffer, const char* value, int64_t n) {
  std::fill_n(reinterpret_cast<T*>(buffer), n, *reinterpret_cast<const T*>(value));
}

void fill(char* buffer, const char* value, int size, int64_t n) {
  switch (size) {
    case 1:
      return fill_as<uint8_t>(buffer, value, n);
    case 2:
      return fill_as<uint16_t>(buffer, value, n);
    case 4:
      return fill_as<uint32_t>(buffer, value, n);
    case 8:
      return fill_as<uint64_t>(buffer, value, n);
    default:
      return fill_as<Bytes16>(buffer, value, n);
  }
}

// Scalars fill buffers, the rest is handed over in blocks as long as the buffers.
void run_with_scalars(const PointwiseLoop& loop, const void* function, const Dense& dense, char** data,
                      int64_t n) {
  alignas(64) char buffers[kMaxOperands][kBlock * kMaxElement];
  for (int k = 0; k < loop.count; k++) {
    if (!dense.scalar[k]) continue;
    fill(buffers[k], data[k], loop.element_size[k], std::min(n, kBlock));
    data[k] = buffers[k];
  }
  for (int64_t left = n; left > 0; left -= kBlock) {
    loop.leaf(function, std::min(left, kBlock), data);
    for (int k = 0; k < loop.count; k++) data[k] += dense.scalar[k] ? 0 : kBlock * loop.element_size[k];
  }
}

// In pieces, with fetches between them.
void run_and_fetch(const PointwiseLoop& loop, const void* function, char** data, int64_t n,
                   FetchAhead& ahead) {
  for (int64_t left = n; left > 0; left -= FetchAhead::kPiece) {
    loop.leaf(function, std::min(left, FetchAhead::kPiece), data);
    for (int k = 0; k < loop.count; k++) data[k] += FetchAhead::kPiece * loop.element_size[k];
    ahead.step();
  }
}

void run_dense(const PointwiseLoop& loop, const void* function, const Operand* const* operands,
               const Dense& dense) {
  parallel_for(0, dense.count, loop.grain, [&](int64_t first, int64_t last) {
    char* data[kMaxOperands];
    for (int k = 0; k < loop.count; k++) {
      data[k] = operands[k]->as<char>() + (dense.scalar[k] ? 0 : first * loop.element_size[k]);
    }
    if (dense.any_scalar)
      run_with_scalars(loop, function, dense, data, last - first);
    else if (FetchAhead* ahead = FetchAhead::current())
      run_and_fetch(loop, function, data, last - first, *ahead);
    else
      loop.leaf(function, last - first, data);
  });
}

// Feeds the leaf with pieces of a strided space.
class StridedRunner {
 public:
  StridedRunner(const PointwiseLoop& loop, const void* function, const StridedSpace& space)
      : loop_(loop), function_(function), space_(space), by_rows_(space.inner_size() >= kLongRow) {
    for (int k = 0; k < loop.count; k++) {
      direct_[k] = by_rows_ ? space.inner_stride(k) == loop.element_size[k] : space.is_dense(k);
      any_buffer_ |= !direct_[k];
    }
  }

  void run(int64_t first, int64_t last) {
    StridedCursor cursor(space_, first);
    FetchAhead* ahead = FetchAhead::current();
    while (first < last) {
      int64_t n = last - first;
      if (by_rows_) n = std::min(n, cursor.row_left());
      if (any_buffer_) n = std::min(n, kBlock);
      if (ahead && !any_buffer_)
        run_direct(cursor, n, *ahead);
      else
        run_block(cursor, n);
      cursor.advance(n);
      first += n;
    }
  }

 private:
  void run_direct(const StridedCursor& cursor, int64_t n, FetchAhead& ahead) {
    char* data[kMaxOperands];
    for (int k = 0; k < loop_.count; k++) data[k] = cursor.data(k);
    run_and_fetch(loop_, function_, data, n, ahead);
  }

  void run_block(const StridedCursor& cursor, int64_t n) {
    char* data[kMaxOperands];
    for (int k = 0; k < loop_.count; k++) {
      data[k] = direct_[k] ? cursor.data(k) : buffers_[k];
      if (!direct_[k] && k >= loop_.outputs) gather(cursor, k, n);
    }
    loop_.leaf(function_, n, data);
    for (int k = 0; k < loop_.outputs; k++) {
      if (!direct_[k]) cursor.move(k, n, buffers_[k], /*scatter=*/true);
    }
  }

  void gather(const StridedCursor& cursor, int k, int64_t n) {
    bool constant = space_.inner_stride(k) == 0 && n <= cursor.row_left();
    char* source = constant ? cursor.data(k) : nullptr;
    if (constant && source == filled_from_[k] && n <= filled_[k]) return;
    cursor.move(k, n, buffers_[k], /*scatter=*/false);
    filled_from_[k] = source;
    filled_[k] = n;
  }

  const PointwiseLoop& loop_;
  const void* function_;
  const StridedSpace& space_;
  bool by_rows_;
  bool any_buffer_ = false;
  bool direct_[kMaxOperands];
  char* filled_from_[kMaxOperands] = {};  // the scalar that fills a buffer, and how far
  int64_t filled_[kMaxOperands] = {};
  alignas(64) char buffers_[kMaxOperands][kBlock * kMaxElement];
};

}  // namespace

void run_pointwise(const PointwiseLoop& loop, const void* function, const Operand* const* operands) {
  Dense dense;
  if (find_dense(loop, operands, &dense)) return run_dense(loop, function, operands, dense);
  StridedSpace space(operands, loop.element_size, loop.count);
  if (space.count() == 0) return;
  parallel_for(0, space.count(), loop.grain, [&](int64_t first, int64_t last) {
    StridedRunner runner(loop, function, space);
    runner.run(first, last);
  });
}

}  // namespace tw::device::detail
