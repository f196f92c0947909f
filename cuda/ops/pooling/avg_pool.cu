// avg_pool and adaptive_avg_pool: a thread adds up the window of an output. Their gradients: a thread adds up
// the shares of the windows over an input, in order, without atomics. Elements that several windows have are
// read again from the cache. Floor: the bytes of input and output over the bandwidth. Means of whole planes
// are a reduction (common/reduce.h).
//
// Per element: 20 bytes and 40 operations (windows of 2 x 2, float32).
#include "cuda/common/element.h"
#include "cuda/common/launch.h"
#include "cuda/common/reduce.h"
#include "cuda/ops/pooling/windows.h"

namespace tw::cuda {

using device::KernelContext;
using device::Operand;

namespace {

// `divisor` is used instead of the count of a window, where it is not 0.
template <class T>
__global__ void __launch_bounds__(kPoolThreads)
    mean_kernel(Planes in, Planes out, PoolWindows w, int64_t divisor, const stored_t<T>* x, stored_t<T>* y) {
  using S = sum_t<T>;
  int64_t element = element_of_thread();
  if (element >= out.count) return;
  Place p = out.place(element);
  PoolWindows::Window windows[3];
  int64_t counted = 1;
  TW_UNROLL
  for (int d = 0; d < 3; d++) {
    windows[d] = w.window(d, p.at[d]);
    counted *= windows[d].counted;
  }
  if (divisor) counted = divisor;
  const stored_t<T>* plane = x + in.plane(p);
  S sum = 0;
  bool any = false;
  each_position(windows, [&](int a, int b, int c) {
    sum += static_cast<S>(load<T>(plane[in.within(a, b, c)]));
    any = true;
  });
  y[out.offset(p)] = store<T>(any && counted ? sum / static_cast<S>(counted) : S(0));
}

template <class T>
__global__ void __launch_bounds__(kPoolThreads)
    share_kernel(Planes in, Planes out, PoolWindows w, int64_t divisor, const stored_t<T>* g,
                 stored_t<T>* dx) {
  using S = sum_t<T>;
  int64_t element = element_of_thread();
  if (element >= in.count) return;
  Place p = in.place(element);
  ops::WindowSpan<int> span[3];
  TW_UNROLL
  for (int d = 0; d < 3; d++) span[d] = w.over(d, p.at[d]);
  const stored_t<T>* plane = g + out.plane(p);
  S sum = 0;
  for (int a = span[0].first; a <= span[0].last; a++)
    for (int b = span[1].first; b <= span[1].last; b++) {
      int64_t counted = int64_t{w.window(0, a).counted} * w.window(1, b).counted;
      for (int c = span[2].first; c <= span[2].last; c++) {
        int64_t by = divisor ? divisor : counted * w.window(2, c).counted;
        sum += static_cast<S>(load<T>(plane[out.within(a, b, c)])) / static_cast<S>(by);
      }
    }
  dx[in.offset(p)] = store<T>(sum);
}

template <class S>
struct MeanOf {
  S count;
  TW_DEVICE S none() const { return S(0); }
  template <class C>
  TW_DEVICE S map(C x) const {
    return static_cast<S>(x);
  }
  TW_DEVICE S combine(S a, S b) const { return a + b; }
  TW_DEVICE S finish(S total) const { return total / count; }
};

void mean(KernelContext& k, const Planes& in, const Planes& out, const PoolWindows& w, int64_t divisor) {
  dispatch_real(k.out().dtype, k.op, [&]<class T>() {
    launch(k.op, mean_kernel<T>, pool_grid(out), in, out, w, divisor, k.in(0).as<const stored_t<T>>(),
           k.out().as<stored_t<T>>());
  });
}

void share(KernelContext& k, const Planes& in, const Planes& out, const PoolWindows& w, int64_t divisor) {
  dispatch_real(k.out().dtype, k.op, [&]<class T>() {
    launch(k.op, share_kernel<T>, pool_grid(in), in, out, w, divisor, k.in(0).as<const stored_t<T>>(),
           k.out().as<stored_t<T>>());
  });
}

void avg_pool_kernel(KernelContext& k) {
  const auto& a = k.attrs<ops::AvgPoolAttrs>();
  Planes in = make_planes(k.in(0), k.op), out = make_planes(k.out(), k.op);
  mean(k, in, out, sliding_windows(in, out, a.kernel_size, a.stride, a.padding, nullptr, a.count_include_pad),
       a.divisor_override.value_or(0));
}

void avg_pool_backward_kernel(KernelContext& k) {
  const auto& a = k.attrs<ops::AvgPoolBackwardAttrs>();
  Planes in = make_planes(k.out(), k.op), out = make_planes(k.in(0), k.op);
  share(k, in, out,
        sliding_windows(in, out, a.kernel_size, a.stride, a.padding, nullptr, a.count_include_pad),
        a.divisor_override.value_or(0));
}

void adaptive_kernel(KernelContext& k) {
  Planes in = make_planes(k.in(0), k.op), out = make_planes(k.out(), k.op);
  if (out.positions() != 1) return mean(k, in, out, adaptive_windows(in, out), 0);
  uint64_t spatial = (uint64_t{1} << k.in(0).rank()) - 4;
  dispatch_real(k.out().dtype, k.op, [&]<class T>() {
    using S = sum_t<T>;
    reduce<T, S>(k.in(0), k.out(), spatial, k.op, MeanOf<S>{static_cast<S>(in.positions())});
  });
}

void adaptive_backward_kernel(KernelContext& k) {
  Planes in = make_planes(k.out(), k.op), out = make_planes(k.in(0), k.op);
  share(k, in, out, adaptive_windows(in, out), 0);
}

}  // namespace

void kernels_avg_pool(device::KernelTable& table) {
  table.add("avg_pool", avg_pool_kernel);
  table.add("avg_pool_backward", avg_pool_backward_kernel);
  table.add("adaptive_avg_pool", adaptive_kernel);
  table.add("adaptive_avg_pool_backward", adaptive_backward_kernel);
}

}  // namespace tw::cuda
