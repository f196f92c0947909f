#include "cuda/common/tuple_copies.h"

#include "base/memory_order.h"
#include "cuda/common/copy.h"

namespace tw::cuda {

using device::Operand;

bool lie_alike(std::span<const std::span<const Operand>> lists, size_t tuple) {
  const Operand& first = lists[0][tuple];
  if (!is_dense(*first.sizes, *first.strides)) return false;
  for (auto list : lists)
    if (!same_walk(*first.sizes, *first.strides, *list[tuple].strides)) return false;
  return true;
}

void* TupleCopies::add(const Operand& tensor, bool written) {
  auto bytes = static_cast<size_t>(tensor.count() * size_of(tensor.dtype));
  copies_.push_back(
      {&tensor, written, contiguous_strides(*tensor.sizes), std::make_unique<DeviceScratch>(bytes)});
  copy_cast(copies_.back().operand(), tensor, op_);
  return copies_.back().memory->as<void>();
}

void TupleCopies::give_back() {
  for (const Copy& copy : copies_)
    if (copy.written) copy_cast(*copy.tensor, copy.operand(), op_);
  copies_.clear();
}

}  // namespace tw::cuda
