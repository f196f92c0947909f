// Lists of tensors walked as one, for multi-tensor kernels (optimizer steps, clipping).
//
// Tuple i holds the i-th tensor of every list; its tensors have the same sizes, each its own strides and
// dtype. The elements of a tuple are cut into chunks of kChunk, and the chunks of all tuples are shared among
// threads, so that many small tensors and few large ones cost the same per byte. Where the cuts lie depends
// on the sizes alone: a body that treats each chunk by itself gives results that do not depend on the number
// of threads.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/function_ref.h"
#include "device/cpu/strided.h"
#include "device/kernel.h"

namespace tw::device {

class TensorLists {
 public:
  static constexpr int64_t kChunk = 2048;
  static constexpr int kMaxLists = detail::kMaxStrided;

  struct Chunk {
    int tuple;
    int64_t number;  // among the chunks of all tuples
    int64_t count;   // elements
  };

  // `lists` have the same length; they and their operands must outlive this object.
  explicit TensorLists(std::span<const std::span<const Operand>> lists);

  int tuples() const { return tuples_; }
  // Tuple i has the chunks [first_chunk(i), first_chunk(i + 1)).
  int64_t first_chunk(int tuple) const { return starts_[tuple]; }
  int64_t chunks() const { return starts_.back(); }
  // What a tuple's arithmetic is done in: float64 where one of its tensors has that dtype, else float32.
  DType compute_dtype(int tuple) const;

  // Calls body(chunk, data) for every chunk, data[j] being its elements in list j as contiguous
  // compute_dtype: the tensor's own memory where it is that already, else a copy. Bit j of `written` says
  // that copies are stored back.
  using Body = FunctionRef<void(const Chunk&, void* const*)>;
  void run(unsigned written, Body body) const;

 private:
  bool in_place(int tuple) const;
  void run_in_place(const Chunk& chunk, int64_t first, Body body) const;
  void run_copied(const Chunk& chunk, int64_t first, unsigned written, Body body) const;

  std::span<const std::span<const Operand>> lists_;
  int tuples_;
  int64_t elements_ = 0;
  std::vector<int64_t> starts_;
  // For tuples that must be copied, the space its tensors share; null for the others.
  std::vector<std::unique_ptr<detail::StridedSpace>> spaces_;
  std::vector<std::vector<uint8_t>> element_sizes_;
};

}  // namespace tw::device
