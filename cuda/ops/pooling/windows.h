// The windows of a pool on the device: sliding or adaptive, by the dims of a plane.
#pragma once

#include "cuda/common/launch.h"
#include "cuda/common/planes.h"
#include "ops/pooling/pooling.h"
#include "ops/pooling/window_formula.h"

namespace tw::cuda {

inline constexpr int kPoolThreads = block_threads(256);

struct PoolWindows {
  using Window = ops::PoolWindow<int>;

  bool adaptive;
  bool count_include_pad;
  ops::SlidingDim<int> sliding[3];  // of adaptive ones size and windows alone

  TW_DEVICE Window window(int dim, int o) const {
    return adaptive ? even(dim).window(o) : sliding[dim].window(o, count_include_pad);
  }
  TW_DEVICE ops::WindowSpan<int> over(int dim, int i) const {
    return adaptive ? even(dim).over(i) : sliding[dim].over(i);
  }

 private:
  TW_DEVICE ops::AdaptiveDim even(int dim) const { return {sliding[dim].size, sliding[dim].windows}; }
};

// One window of one element in each dim that planes lack.
inline PoolWindows adaptive_windows(const Planes& in, const Planes& out) {
  PoolWindows w{true, false, {}};
  for (int d = 0; d < 3; d++) w.sliding[d] = {in.sizes[d], out.sizes[d], 1, 1, 0, 1};
  return w;
}

inline PoolWindows sliding_windows(const Planes& in, const Planes& out, const IntList& kernel,
                                   const IntList& stride, const IntList& padding, const IntList* dilation,
                                   bool count_include_pad) {
  PoolWindows w = adaptive_windows(in, out);
  w.adaptive = false;
  w.count_include_pad = count_include_pad;
  auto missing = static_cast<int>(3 - kernel.size());
  auto number = [&](const IntList& list, int d) { return static_cast<int>(list[d - missing]); };
  for (int d = missing; d < 3; d++)
    w.sliding[d] = {in.sizes[d],       out.sizes[d],       number(kernel, d),
                    number(stride, d), number(padding, d), dilation ? number(*dilation, d) : 1};
  return w;
}

// Blocks with a thread for each element.
inline Grid pool_grid(const Planes& planes) {
  return {static_cast<unsigned>((planes.count + kPoolThreads - 1) / kPoolThreads), kPoolThreads};
}
TW_DEVICE int64_t element_of_thread() {
  return static_cast<int64_t>(blockIdx.x) * kPoolThreads + threadIdx.x;
}

// Calls f(a, b, c) with the positions of a window, in order.
template <class F>
TW_DEVICE void each_position(const PoolWindows::Window (&w)[3], F f) {
  for (int i = 0; i < w[0].count; i++)
    for (int j = 0; j < w[1].count; j++)
      for (int k = 0; k < w[2].count; k++)
        f(w[0].first + i * w[0].step, w[1].first + j * w[1].step, w[2].first + k * w[2].step);
}

}  // namespace tw::cuda
