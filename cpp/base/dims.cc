#include "base/dims.h"

#include "base/error.h"

namespace tw {

namespace {

// Wraps: sizes whose product overflows are refused by numel, or hold a 0, and then no stride is ever
// followed.
int64_t wrapping_product(int64_t a, int64_t b) {
  int64_t product;
  (void)__builtin_mul_overflow(a, b, &product);
  return product;
}

}  // namespace

int64_t numel(const Dims& sizes) {
  int64_t count = 1;
  bool overflow = false, zero = false;
  for (int64_t size : sizes) {
    TW_CHECK(size >= 0, kValue, "sizes must not be negative, got ", sizes);
    zero |= size == 0;
    overflow |= __builtin_mul_overflow(count, size == 0 ? 1 : size, &count);
  }
  TW_CHECK(zero || !overflow, kValue, "the number of elements overflows 64 bits: sizes ", sizes);
  return zero ? 0 : count;
}

Dims contiguous_strides(const Dims& sizes) {
  Dims strides(sizes.size());
  int64_t step = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = step;
    step = wrapping_product(step, sizes[i] > 1 ? sizes[i] : 1);
  }
  return strides;
}

bool is_contiguous(const Dims& sizes, const Dims& strides) {
  int64_t step = 1;
  bool result = true;
  for (size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] == 0) return true;
    if (sizes[i] == 1) continue;
    result &= strides[i] == step;
    step = wrapping_product(step, sizes[i]);
  }
  return result;
}

bool may_overlap(const Dims& sizes, const Dims& strides) {
  // Sort dims by stride; each must step over all that the smaller ones span.
  SmallVector<std::pair<int64_t, int64_t>, 6> order;
  for (size_t i = 0; i < sizes.size(); i++) {
    if (sizes[i] == 0) return false;
    if (sizes[i] > 1) order.push_back({strides[i] < 0 ? -strides[i] : strides[i], sizes[i]});
  }
  std::sort(order.begin(), order.end());
  int64_t span = 0;
  for (auto [stride, size] : order) {
    if (stride <= span) return true;
    span += stride * (size - 1);
  }
  return false;
}

int64_t wrap_dim(int64_t dim, int64_t rank, const char* op) {
  int64_t limit = rank == 0 ? 1 : rank;
  TW_CHECK(dim >= -limit && dim < limit, kIndex, op, ": dim must be in [", -limit, ", ", limit - 1, "], got ",
           dim);
  return dim < 0 ? dim + limit : dim;
}

Dims wrap_dims(const Dims& dims, int64_t rank, const char* op) {
  Dims result;
  for (int64_t dim : dims) {
    int64_t wrapped = wrap_dim(dim, rank, op);
    for (int64_t seen : result)
      TW_CHECK(seen != wrapped, kValue, op, ": dim ", wrapped, " appears more than once in ", dims);
    result.push_back(wrapped);
  }
  return result;
}

Dims broadcast_sizes(const Dims& a, const Dims& b, const char* op) {
  if (a == b) return a;
  const Dims& longer = a.size() >= b.size() ? a : b;
  const Dims& shorter = a.size() >= b.size() ? b : a;
  Dims result = longer;
  size_t shift = longer.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); i++) {
    int64_t& size = result[i + shift];
    if (shorter[i] == size || shorter[i] == 1) continue;
    TW_CHECK(size == 1, kValue, op, ": the shapes ", a, " and ", b, " do not broadcast together");
    size = shorter[i];
  }
  return result;
}

bool view_strides(const Dims& sizes, const Dims& strides, const Dims& target, Dims* target_strides) {
  if (numel(sizes) == 0) {
    *target_strides = sizes == target ? strides : contiguous_strides(target);
    return true;
  }
  *target_strides = Dims(target.size());
  // Walk from the last dim: each maximal run of source dims that lies evenly in memory must be covered
  // exactly by a run of target dims.
  int64_t at = static_cast<int64_t>(target.size()) - 1;
  int64_t base = sizes.empty() ? 1 : strides.back();
  int64_t source_count = 1, target_count = 1;
  for (int64_t i = static_cast<int64_t>(sizes.size()) - 1; i >= 0; i--) {
    source_count *= sizes[i];
    bool run_ends = i == 0 || (sizes[i - 1] != 1 && strides[i - 1] != source_count * base);
    if (!run_ends) continue;
    while (at >= 0 && (target_count < source_count || target[at] == 1)) {
      (*target_strides)[at] = target_count * base;
      target_count *= target[at--];
    }
    if (target_count != source_count) return false;
    if (i > 0) {
      base = strides[i - 1];
      source_count = target_count = 1;
    }
  }
  for (; at >= 0; at--) {
    if (target[at] != 1) return false;
    (*target_strides)[at] = target_count * base;
  }
  return true;
}

Dims infer_size(const Dims& target, int64_t count, const char* op) {
  Dims result = target;
  int64_t known = 1, unknown = -1;
  for (size_t i = 0; i < target.size(); i++) {
    if (target[i] == -1) {
      TW_CHECK(unknown < 0, kValue, op, ": only one size may be -1, got ", target);
      unknown = static_cast<int64_t>(i);
    } else {
      TW_CHECK(target[i] >= 0, kValue, op, ": sizes must not be negative, got ", target);
      TW_CHECK(!__builtin_mul_overflow(known, target[i], &known), kValue, op, ": sizes overflow: ", target);
    }
  }
  if (unknown >= 0) {
    TW_CHECK(known != 0, kValue, op, ": the size given as -1 is ambiguous in ", target);
    TW_CHECK(count % known == 0, kValue, op, ": the shape ", target, " does not fit ", count, " elements");
    result[unknown] = count / known;
  } else {
    TW_CHECK(known == count, kValue, op, ": the shape ", target, " does not fit ", count, " elements");
  }
  return result;
}

}  // namespace tw
