#include "base/memory_order.h"

namespace tw {

namespace {

// Strides without gaps with dims in this order, the innermost first.
Dims strides_in_order(const Dims& sizes, const Dims& inner_first) {
  Dims strides(sizes.size());
  int64_t step = 1;
  for (int64_t dim : inner_first) {
    strides[dim] = step;
    step *= sizes[dim];
  }
  return strides;
}

Dims channels_first_in(int64_t rank) {
  Dims order{1};
  for (int64_t dim = rank - 1; dim >= 2; dim--) order.push_back(dim);
  order.push_back(0);
  return order;
}

// How an operand tells two dims of the result apart: below 0 where dim a lies inside b, above 0 for the
// reverse, 0 where it says nothing.
int compare_dims(const Dims& sizes, const Window& operand, int64_t a, int64_t b) {
  int64_t missing = static_cast<int64_t>(sizes.size() - operand.sizes->size());
  if (a < missing || b < missing) return 0;
  auto stride = [&](int64_t dim) {
    bool broadcast = (*operand.sizes)[dim - missing] != sizes[dim];
    return broadcast ? 0 : (*operand.strides)[dim - missing];
  };
  int64_t of_a = stride(a), of_b = stride(b);
  if (of_a == 0 || of_b == 0) return 0;
  if (of_a != of_b) return of_a < of_b ? -1 : 1;
  return sizes[a] > sizes[b] ? 1 : 0;
}

// Insertion sort from row-major order: the comparison is no total order, and the result depends on the way.
Dims sorted_dims(const Dims& sizes, std::span<const Window> operands) {
  int64_t rank = static_cast<int64_t>(sizes.size());
  Dims order;
  for (int64_t dim = rank - 1; dim >= 0; dim--) order.push_back(dim);
  for (int64_t next = 1; next < rank; next++) {
    for (int64_t at = next, before = next - 1; before >= 0; before--) {
      int verdict = 0;
      for (size_t i = 0; i < operands.size() && verdict == 0; i++)
        verdict = compare_dims(sizes, operands[i], order[before], order[at]);
      if (verdict < 0) break;
      if (verdict == 0) continue;
      std::swap(order[before], order[at]);
      at = before;
    }
  }
  return order;
}

}  // namespace

Dims channels_last_strides(const Dims& sizes) {
  return strides_in_order(sizes, channels_first_in(static_cast<int64_t>(sizes.size())));
}

bool is_channels_last(const Dims& sizes, const Dims& strides) {
  int64_t rank = static_cast<int64_t>(sizes.size());
  if ((rank != 4 && rank != 5) || strides[1] == 0) return false;
  int64_t least = 0;
  for (int64_t dim : channels_first_in(rank)) {
    if (sizes[dim] == 0 || strides[dim] < least) return false;
    if (dim == 0 && least == strides[1]) return false;  // nothing but images: both orders are the same
    least = strides[dim] * std::max<int64_t>(sizes[dim], 1);
  }
  return true;
}

bool is_dense(const Dims& sizes, const Dims& strides) {
  return is_contiguous(sizes, strides) || (!may_overlap(sizes, strides) && [&] {
           int64_t last = 0, count = 1;
           for (size_t i = 0; i < sizes.size(); i++) {
             if (sizes[i] > 1) last += (sizes[i] - 1) * strides[i];
             count *= sizes[i];
           }
           return count == 0 || last + 1 == count;
         }());
}

bool same_walk(const Dims& sizes, const Dims& strides, const Dims& other_strides) {
  for (size_t i = 0; i < sizes.size(); i++)
    if (sizes[i] > 1 && strides[i] != other_strides[i]) return false;
  return true;
}

Dims pointwise_strides(const Dims& sizes, std::span<const Window> operands) {
  bool alike = !operands.empty(), row_major = alike, channels_last = alike;
  for (const Window& operand : operands) {
    alike = alike && *operand.sizes == sizes;
    if (!alike) break;
    row_major = row_major && is_contiguous(sizes, *operand.strides);
    channels_last = channels_last && sizes.size() == 4 &&
                    same_walk(sizes, *operand.strides, channels_last_strides(sizes));
  }
  if (alike && row_major) return contiguous_strides(sizes);
  if (alike && channels_last) return channels_last_strides(sizes);
  if (alike && is_dense(sizes, *operands[0].strides)) {
    bool same = true;
    for (const Window& operand : operands) same = same && *operand.strides == *operands[0].strides;
    if (same) return *operands[0].strides;
  }
  Dims apart = sizes;  // an empty dim counts as one element, as in contiguous_strides
  for (int64_t& size : apart) size = std::max<int64_t>(size, 1);
  return strides_in_order(apart, sorted_dims(sizes, operands));
}

}  // namespace tw
