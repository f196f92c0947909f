#include "device/cpu/tensor_lists.h"

#include <algorithm>

#include "base/memory_order.h"
#include "device/cpu/cast.h"
#include "device/cpu/parallel.h"

namespace tw::device {

namespace {

// Elements worth a thread.
constexpr int64_t kGrain = 32 << 10;

// n elements from one contiguous array to another, converted.
void convert(void* to, DType to_dtype, void* from, DType from_dtype, int64_t n) {
  Dims sizes{n}, strides{1};
  copy_cast({to, &sizes, &strides, to_dtype}, {from, &sizes, &strides, from_dtype});
}

}  // namespace

TensorLists::TensorLists(std::span<const std::span<const Operand>> lists)
    : lists_(lists), tuples_(static_cast<int>(lists[0].size())) {
  TW_ASSERT(lists.size(), <=, static_cast<size_t>(kMaxLists));
  starts_.reserve(tuples_ + 1);
  starts_.push_back(0);
  spaces_.resize(tuples_);
  for (int i = 0; i < tuples_; i++) {
    int64_t count = lists[0][i].count();
    elements_ += count;
    starts_.push_back(starts_.back() + (count + kChunk - 1) / kChunk);
    if (in_place(i)) continue;
    std::vector<uint8_t> sizes;
    const Operand* operands[kMaxLists];
    for (size_t j = 0; j < lists.size(); j++) {
      sizes.push_back(static_cast<uint8_t>(size_of(lists[j][i].dtype)));
      operands[j] = &lists[j][i];
    }
    element_sizes_.push_back(std::move(sizes));  // its memory does not move when the outer vector grows
    spaces_[i] = std::make_unique<detail::StridedSpace>(operands, element_sizes_.back().data(),
                                                        static_cast<int>(lists.size()));
  }
}

DType TensorLists::compute_dtype(int tuple) const {
  for (const auto& list : lists_)
    if (list[tuple].dtype == DType::kFloat64) return DType::kFloat64;
  return DType::kFloat32;
}

bool TensorLists::in_place(int tuple) const {
  DType dtype = compute_dtype(tuple);
  if (!is_dense(*lists_[0][tuple].sizes, *lists_[0][tuple].strides)) return false;
  return std::all_of(lists_.begin(), lists_.end(), [&](const auto& list) {
    const Operand &operand = list[tuple], &first = lists_[0][tuple];
    return operand.dtype == dtype && same_walk(*operand.sizes, *first.strides, *operand.strides);
  });
}

void TensorLists::run_in_place(const Chunk& chunk, int64_t first, Body body) const {
  void* data[kMaxLists];
  for (size_t j = 0; j < lists_.size(); j++) {
    const Operand& operand = lists_[j][chunk.tuple];
    data[j] = operand.as<char>() + first * size_of(operand.dtype);
  }
  body(chunk, data);
}

void TensorLists::run_copied(const Chunk& chunk, int64_t first, unsigned written, Body body) const {
  alignas(64) char computed[kMaxLists][kChunk * sizeof(double)];
  alignas(64) char stored[kChunk * sizeof(double)];
  void* data[kMaxLists];
  DType dtype = compute_dtype(chunk.tuple);
  detail::StridedCursor cursor(*spaces_[chunk.tuple], first);
  for (int j = 0; j < static_cast<int>(lists_.size()); j++) {
    data[j] = computed[j];
    cursor.move(j, chunk.count, stored, /*scatter=*/false);
    convert(data[j], dtype, stored, lists_[j][chunk.tuple].dtype, chunk.count);
  }
  body(chunk, data);
  for (int j = 0; j < static_cast<int>(lists_.size()); j++) {
    if (!(written >> j & 1)) continue;
    convert(stored, lists_[j][chunk.tuple].dtype, data[j], dtype, chunk.count);
    cursor.move(j, chunk.count, stored, /*scatter=*/true);
  }
}

void TensorLists::run(unsigned written, Body body) const {
  if (chunks() == 0) return;
  int64_t grain = std::max<int64_t>(1, chunks() * kGrain / elements_);
  parallel_for(0, chunks(), grain, [&](int64_t begin, int64_t end) {
    int tuple =
        static_cast<int>(std::upper_bound(starts_.begin(), starts_.end(), begin) - starts_.begin()) - 1;
    for (int64_t number = begin; number < end; number++) {
      while (number >= starts_[tuple + 1]) tuple++;
      int64_t first = (number - starts_[tuple]) * kChunk;
      Chunk chunk{tuple, number, std::min(kChunk, lists_[0][tuple].count() - first)};
      if (spaces_[tuple])
        run_copied(chunk, first, written, body);
      else
        run_in_place(chunk, first, body);
    }
  });
}

}  // namespace tw::device
