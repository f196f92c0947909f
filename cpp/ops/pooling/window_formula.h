// The windows of a pool along one dim: which positions a window covers, and which windows cover a position. I
// is the integer that positions are counted in.
#pragma once

#include <cstdint>

#include "base/formula.h"

namespace tw::ops {

// Positions first, first + step, ... (count of them) lie inside; `counted` is what the mean divides by.
template <class I>
struct PoolWindow {
  I first, count, step, counted;
};

// Windows first to last; none where last < first.
template <class I>
struct WindowSpan {
  I first, last;
};

// Numbers of a dim of sliding windows: `size` positions, `windows` of them.
template <class I>
struct SlidingDim {
  I size, windows, kernel, stride, padding, dilation;

  TW_FORMULA PoolWindow<I> window(I o, bool count_include_pad) const {
    I begin = o * stride - padding, end = begin + dilation * (kernel - 1) + 1;
    I inside = end < size ? end : size, padded = (end < size + padding ? end : size + padding) - begin;
    I first = begin < 0 ? begin + steps(-begin) * dilation : begin;
    I count = first < inside ? steps(inside - first) : 0;
    return {first, count, dilation, count_include_pad ? padded : count};
  }
  // Those over position i, where dilation is 1.
  TW_FORMULA WindowSpan<I> over(I i) const {
    I last = (i + padding) / stride, first = i + padding < kernel ? 0 : (i + padding - kernel) / stride + 1;
    return {first, last < windows ? last : windows - 1};
  }

 private:
  TW_FORMULA I steps(I distance) const {
    return dilation == 1 ? distance : (distance + dilation - 1) / dilation;
  }
};

// Window o reaches from floor(o · size / windows) to ceil((o + 1) · size / windows). In 64 bits: the products
// are large.
struct AdaptiveDim {
  int64_t size, windows;

  template <class I>
  TW_FORMULA PoolWindow<I> window(I o) const {
    int64_t first = o * size / windows, end = ((o + 1) * size + windows - 1) / windows;
    return {static_cast<I>(first), static_cast<I>(end - first), 1, static_cast<I>(end - first)};
  }
  template <class I>
  TW_FORMULA WindowSpan<I> over(I i) const {
    return {static_cast<I>(i * windows / size), static_cast<I>(((i + 1) * windows + size - 1) / size - 1)};
  }
};

}  // namespace tw::ops
