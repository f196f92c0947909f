// The windows of a pool, one list a dim. A window of a plane is the product of one range of each dim.
#pragma once

#include <array>
#include <vector>

#include "base/dims.h"
#include "ops/pooling/window_formula.h"

namespace tw::ops {

using WindowRange = PoolWindow<int64_t>;

struct Windows {
  std::array<std::vector<WindowRange>, 3>
      dims;  // leading ones hold one window of one element where there are fewer
  std::array<int64_t, 3> in;
  int64_t divisor = 0;  // instead of the product of `counted`, when not 0

  int64_t out_count() const { return static_cast<int64_t>(dims[0].size() * dims[1].size() * dims[2].size()); }
  int64_t in_count() const { return in[0] * in[1] * in[2]; }
};

inline Windows unit_windows(const Dims& in_sizes, const Dims& out_sizes) {
  Windows w;
  int64_t missing = 5 - static_cast<int64_t>(in_sizes.size());
  for (int64_t i = 0; i < 3; i++) {
    w.in[i] = i < missing ? 1 : in_sizes[i - missing + 2];
    w.dims[i].assign(static_cast<size_t>(i < missing ? 1 : out_sizes[i - missing + 2]),
                     WindowRange{0, 1, 1, 1});
  }
  return w;
}

inline Windows sliding_windows(const Dims& in_sizes, const Dims& out_sizes, const IntList& kernel,
                               const IntList& stride, const IntList& padding, const IntList* dilation,
                               bool count_include_pad) {
  Windows w = unit_windows(in_sizes, out_sizes);
  int64_t missing = 3 - static_cast<int64_t>(kernel.size());
  for (int64_t i = missing; i < 3; i++) {
    int64_t at = i - missing, windows = static_cast<int64_t>(w.dims[i].size());
    SlidingDim<int64_t> dim{w.in[i],    windows,     kernel[at],
                            stride[at], padding[at], dilation ? (*dilation)[at] : 1};
    for (int64_t o = 0; o < windows; o++) w.dims[i][o] = dim.window(o, count_include_pad);
  }
  return w;
}

inline Windows adaptive_windows(const Dims& in_sizes, const Dims& out_sizes) {
  Windows w = unit_windows(in_sizes, out_sizes);
  for (int64_t i = 5 - static_cast<int64_t>(in_sizes.size()); i < 3; i++) {
    AdaptiveDim dim{w.in[i], static_cast<int64_t>(w.dims[i].size())};
    for (int64_t o = 0; o < dim.windows; o++) w.dims[i][o] = dim.window(o);
  }
  return w;
}

// Calls f(output position, range of each dim) for each window of a plane.
template <class F>
void for_windows(const Windows& w, F f) {
  int64_t out = 0;
  for (const WindowRange& a : w.dims[0])
    for (const WindowRange& b : w.dims[1])
      for (const WindowRange& c : w.dims[2]) f(out++, a, b, c);
}

// Calls f(flat position in the plane) for each element of a window, in order.
template <class F>
void for_elements(const Windows& w, const WindowRange& a, const WindowRange& b, const WindowRange& c, F f) {
  for (int64_t i = 0; i < a.count; i++)
    for (int64_t j = 0; j < b.count; j++) {
      int64_t row = ((a.first + i * a.step) * w.in[1] + b.first + j * b.step) * w.in[2] + c.first;
      for (int64_t k = 0; k < c.count; k++) f(row + k * c.step);
    }
}

}  // namespace tw::ops
