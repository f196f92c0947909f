// Planes are shared among threads, or, channels-last, images and blocks of channels; one pass. Floor: the
// bytes of input and output over the bandwidth.
#include <algorithm>

#include "device/cpu/contiguous.h"
#include "device/cpu/parallel.h"
#include "ops/channels_last_cpu.h"
#include "ops/pooling/pooling.h"
#include "ops/pooling/windows_cpu.h"

namespace tw::ops {

using namespace device;

namespace {

int64_t divisor_of(const Windows& w, const WindowRange& a, const WindowRange& b, const WindowRange& c) {
  return w.divisor ? w.divisor : a.counted * b.counted * c.counted;
}

template <class F>
void for_planes(int64_t planes, int64_t elements, F f) {
  parallel_for(0, planes, std::max<int64_t>(1, (1 << 15) / std::max<int64_t>(1, elements)),
               [&](int64_t first, int64_t last) {
                 for (int64_t plane = first; plane < last; plane++) f(plane);
               });
}

template <class T, class S>
TW_CLONES __attribute__((flatten)) void add_row(int64_t n, const T* x, S* sums) {
  for (int64_t c = 0; c < n; c++) sums[c] += static_cast<S>(x[c]);
}
template <class T, class S>
TW_CLONES __attribute__((flatten)) void mean_row(int64_t n, const S* sums, S divisor, T* y) {
  for (int64_t c = 0; c < n; c++) y[c] = store<T>(sums[c] / divisor);
}
template <class T, class S>
TW_CLONES __attribute__((flatten)) void share_row(int64_t n, const T* grad, S divisor, S* shares) {
  for (int64_t c = 0; c < n; c++) shares[c] = static_cast<S>(grad[c]) / divisor;
}

void mean_channels_last(KernelContext& k, const Windows& w) {
  int64_t images = k.out().size(0), channels = k.out().size(1);
  ChannelsMoved moved(k.in(0));
  dispatch_real(k.out().dtype, k.op, [&]<class T>() {
    using S = sum_t<T>;
    Contiguous<T> input(moved.of(k.in(0)));
    for_channel_blocks(images, channels, w.in_count(), [&](int64_t image, int64_t first, int64_t n) {
      const T* x = input.data() + image * w.in_count() * channels + first;
      T* y = k.out().as<T>() + image * w.out_count() * channels + first;
      S sums[kChannelBlock];
      for_windows(w, [&](int64_t o, const WindowRange& a, const WindowRange& b, const WindowRange& c) {
        std::fill_n(sums, n, S(0));
        for_elements(w, a, b, c, [&](int64_t position) { add_row(n, x + position * channels, sums); });
        int64_t divisor = divisor_of(w, a, b, c);
        if (divisor && a.count && b.count && c.count)
          mean_row(n, sums, static_cast<S>(divisor), y + o * channels);
        else
          std::fill_n(y + o * channels, n, T(0));
      });
    });
  });
}

void spread_channels_last(KernelContext& k, const Windows& w) {
  int64_t images = k.out().size(0), channels = k.out().size(1), in_count = w.in_count();
  ChannelsMoved moved(k.in(0));
  dispatch_real(k.out().dtype, k.op, [&]<class T>() {
    using S = sum_t<T>;
    constexpr bool kDirect = std::is_same_v<S, T>;
    Contiguous<T> grad(moved.of(k.in(0)));
    for_channel_blocks(images, channels, in_count, [&](int64_t image, int64_t first, int64_t n) {
      T* y = k.out().as<T>() + image * in_count * channels + first;
      const T* g = grad.data() + image * w.out_count() * channels + first;
      Scratch wide(kDirect ? 0 : static_cast<size_t>(in_count * n) * sizeof(S));
      S* sums = kDirect ? reinterpret_cast<S*>(y) : wide.as<S>();
      int64_t step = kDirect ? channels : n;
      for (int64_t i = 0; i < in_count; i++) std::fill_n(sums + i * step, n, S(0));
      S shares[kChannelBlock];
      for_windows(w, [&](int64_t o, const WindowRange& a, const WindowRange& b, const WindowRange& c) {
        int64_t divisor = divisor_of(w, a, b, c);
        if (divisor == 0) return;
        share_row(n, g + o * channels, static_cast<S>(divisor), shares);
        for_elements(w, a, b, c, [&](int64_t position) { add_row(n, shares, sums + position * step); });
      });
      if constexpr (!kDirect)
        for (int64_t i = 0; i < in_count; i++)
          for (int64_t c = 0; c < n; c++) y[i * channels + c] = store<T>(sums[i * n + c]);
    });
  });
}

void mean_planes(KernelContext& k, const Windows& w) {
  if (is_channels_last(k.in(0)) && holds_channels_last(k.out())) return mean_channels_last(k, w);
  int64_t planes = k.out().size(0) * k.out().size(1);
  dispatch_real(k.out().dtype, k.op, [&]<class T>() {
    using S = sum_t<T>;
    Contiguous<T> input(k.in(0));
    for_planes(planes, w.in_count(), [&](int64_t plane) {
      const T* x = input.data() + plane * w.in_count();
      T* y = k.out().as<T>() + plane * w.out_count();
      for_windows(w, [&](int64_t o, const WindowRange& a, const WindowRange& b, const WindowRange& c) {
        S sum = 0;
        for_elements(w, a, b, c, [&](int64_t position) { sum += static_cast<S>(x[position]); });
        int64_t divisor = divisor_of(w, a, b, c);
        y[o] = divisor && a.count && b.count && c.count ? store<T>(sum / static_cast<S>(divisor)) : T(0);
      });
    });
  });
}

// Written once: a plane collects in the type that sums are kept in.
void spread_planes(KernelContext& k, const Windows& w) {
  if (is_channels_last(k.in(0)) && holds_channels_last(k.out())) return spread_channels_last(k, w);
  int64_t planes = k.out().size(0) * k.out().size(1), in_count = w.in_count();
  dispatch_real(k.out().dtype, k.op, [&]<class T>() {
    using S = sum_t<T>;
    Contiguous<T> grad(k.in(0));
    for_planes(planes, in_count, [&](int64_t plane) {
      T* y = k.out().as<T>() + plane * in_count;
      Scratch wide(std::is_same_v<S, T> ? 0 : static_cast<size_t>(in_count) * sizeof(S));
      S* sums = std::is_same_v<S, T> ? reinterpret_cast<S*>(y) : wide.as<S>();
      std::fill_n(sums, in_count, S(0));
      for_windows(w, [&](int64_t o, const WindowRange& a, const WindowRange& b, const WindowRange& c) {
        int64_t divisor = divisor_of(w, a, b, c);
        if (divisor == 0) return;
        S share = static_cast<S>(grad.data()[plane * w.out_count() + o]) / static_cast<S>(divisor);
        for_elements(w, a, b, c, [&](int64_t position) { sums[position] += share; });
      });
      if constexpr (!std::is_same_v<S, T>)
        for (int64_t i = 0; i < in_count; i++) y[i] = store<T>(sums[i]);
    });
  });
}

template <class A>
Windows windows_of(const A& a, const Dims& in, const Dims& out) {
  Windows w = sliding_windows(in, out, a.kernel_size, a.stride, a.padding, nullptr, a.count_include_pad);
  w.divisor = a.divisor_override.value_or(0);
  return w;
}

void avg_pool_kernel(KernelContext& k) {
  mean_planes(k, windows_of(k.attrs<AvgPoolAttrs>(), *k.in(0).sizes, *k.out().sizes));
}
void avg_pool_backward_kernel(KernelContext& k) {
  spread_planes(k, windows_of(k.attrs<AvgPoolBackwardAttrs>(), *k.out().sizes, *k.in(0).sizes));
}
void adaptive_kernel(KernelContext& k) { mean_planes(k, adaptive_windows(*k.in(0).sizes, *k.out().sizes)); }
void adaptive_backward_kernel(KernelContext& k) {
  spread_planes(k, adaptive_windows(*k.out().sizes, *k.in(0).sizes));
}

}  // namespace

void kernels_avg_pool(KernelTable& table) {
  table.add("avg_pool", avg_pool_kernel);
  table.add("avg_pool_backward", avg_pool_backward_kernel);
  table.add("adaptive_avg_pool", adaptive_kernel);
  table.add("adaptive_avg_pool_backward", adaptive_backward_kernel);
}

}  // namespace tw::ops
