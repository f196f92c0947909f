// Planes are shared among threads, or, channels-last, images and blocks of channels; one pass. Floor: the
// bytes of input and outputs over the bandwidth.
#include <algorithm>
#include <cmath>

#include "device/cpu/contiguous.h"
#include "device/cpu/parallel.h"
#include "ops/channels_last_cpu.h"
#include "ops/pooling/pooling.h"
#include "ops/pooling/windows_cpu.h"

namespace tw::ops {

using namespace device;

namespace {

int64_t plane_grain(int64_t elements) {
  return std::max<int64_t>(1, (1 << 15) / std::max<int64_t>(1, elements));
}

template <class T>
T least_value() {
  return std::is_integral_v<T> ? std::numeric_limits<T>::lowest()
                               : T(-std::numeric_limits<float>::infinity());
}

// y and at keep the largest so far and its position, NaN being the largest.
template <class T>
TW_CLONES __attribute__((flatten)) void max_row(int64_t n, const T* x, int64_t position, T* y, int64_t* at) {
  using C = compute_t<T>;
  for (int64_t c = 0; c < n; c++) {
    C value = static_cast<C>(x[c]), largest = static_cast<C>(y[c]);
    bool takes = value > largest || (value != value && largest == largest);
    y[c] = takes ? x[c] : y[c];
    at[c] = takes ? position : at[c];
  }
}

template <class T>
void max_channels_last(KernelContext& k, const Windows& w) {
  int64_t images = k.in(0).size(0), channels = k.in(0).size(1);
  ChannelsMoved moved(k.in(0));
  Contiguous<T> input(moved.of(k.in(0)));
  for_channel_blocks(images, channels, w.in_count(), [&](int64_t image, int64_t begin, int64_t n) {
    const T* x = input.data() + image * w.in_count() * channels + begin;
    for_windows(w, [&](int64_t o, const WindowRange& a, const WindowRange& b, const WindowRange& c) {
      int64_t offset = (image * w.out_count() + o) * channels + begin;
      T* y = k.out(0).as<T>() + offset;
      int64_t* at = k.out(1).as<int64_t>() + offset;
      bool empty = a.count == 0 || b.count == 0 || c.count == 0;  // ceil_mode over padding
      int64_t first = empty ? 0 : (a.first * w.in[1] + b.first) * w.in[2] + c.first;
      std::fill_n(at, n, first);
      if (empty) return void(std::fill_n(y, n, least_value<T>()));
      std::copy_n(x + first * channels, n, y);
      for_elements(w, a, b, c,
                   [&](int64_t position) { max_row(n, x + position * channels, position, y, at); });
    });
  });
}

template <class T>
void max_planes(KernelContext& k, const Windows& w) {
  if (is_channels_last(k.in(0)) && holds_channels_last(k.out(0)) && holds_channels_last(k.out(1)))
    return max_channels_last<T>(k, w);
  using C = compute_t<T>;
  Contiguous<T> input(k.in(0));
  const Operand &out = k.out(0), &indices = k.out(1);
  int64_t planes = k.in(0).size(0) * k.in(0).size(1), out_count = w.out_count();
  parallel_for(0, planes, plane_grain(w.in_count()), [&](int64_t first, int64_t last) {
    for (int64_t plane = first; plane < last; plane++) {
      const T* x = input.data() + plane * w.in_count();
      T* y = out.as<T>() + plane * out_count;
      int64_t* at = indices.as<int64_t>() + plane * out_count;
      for_windows(w, [&](int64_t o, const WindowRange& a, const WindowRange& b, const WindowRange& c) {
        int64_t best = (a.first * w.in[1] + b.first) * w.in[2] + c.first;
        if (a.count == 0 || b.count == 0 ||
            c.count == 0) {  // nothing of it lies inside: ceil_mode over padding
          y[o] = least_value<T>();
          at[o] = 0;
          return;
        }
        C largest = static_cast<C>(x[best]);
        for_elements(w, a, b, c, [&](int64_t position) {
          C value = static_cast<C>(x[position]);
          if (value > largest || (value != value && largest == largest)) largest = value, best = position;
        });
        y[o] = x[best];
        at[o] = best;
      });
    }
  });
}

void max_pool_kernel(KernelContext& k) {
  const auto& a = k.attrs<MaxPoolAttrs>();
  Windows w = sliding_windows(*k.in(0).sizes, *k.out(0).sizes, a.kernel_size, a.stride, a.padding,
                              &a.dilation, false);
  dispatch_real(k.out(0).dtype, k.op, [&]<class T>() { max_planes<T>(k, w); });
}

void adaptive_max_pool_kernel(KernelContext& k) {
  Windows w = adaptive_windows(*k.in(0).sizes, *k.out(0).sizes);
  dispatch_real(k.out(0).dtype, k.op, [&]<class T>() { max_planes<T>(k, w); });
}

int64_t plane_size(const Operand& o) {
  int64_t result = 1;
  for (int64_t dim = 2; dim < o.rank(); dim++) result *= o.size(dim);
  return result;
}

void check_position(const KernelContext& k, int64_t position, int64_t size) {
  TW_CHECK(position >= 0 && position < size, kIndex, k.op, ": indices from 0 to ", size - 1,
           " are wanted, got ", position);
}

void scatter_channels_last(KernelContext& k, bool accumulate) {
  int64_t images = k.out().size(0), channels = k.out().size(1), from = plane_size(k.in(0)),
          to = plane_size(k.out());
  ChannelsMoved moved_values(k.in(0)), moved_indices(k.in(1));
  Contiguous<int64_t> indices(moved_indices.of(k.in(1)));
  dispatch_real(k.out().dtype, k.op, [&]<class T>() {
    Contiguous<T> values(moved_values.of(k.in(0)));
    for_channel_blocks(images, channels, to, [&](int64_t image, int64_t first, int64_t n) {
      T* y = k.out().as<T>() + image * to * channels + first;
      for (int64_t i = 0; i < to; i++) std::fill_n(y + i * channels, n, T(0));
      for (int64_t i = 0; i < from; i++) {
        int64_t row = (image * from + i) * channels + first;
        for (int64_t c = 0; c < n; c++) {
          int64_t at = indices.data()[row + c];
          check_position(k, at, to);
          T value = values.data()[row + c], &place = y[at * channels + c];
          place = accumulate ? T(static_cast<compute_t<T>>(place) + static_cast<compute_t<T>>(value)) : value;
        }
      }
    });
  });
}

void gather_channels_last(KernelContext& k) {
  int64_t images = k.out().size(0), channels = k.out().size(1), from = plane_size(k.in(0)),
          to = plane_size(k.out());
  ChannelsMoved moved_values(k.in(0)), moved_indices(k.in(1));
  Contiguous<int64_t> indices(moved_indices.of(k.in(1)));
  dispatch_real(k.out().dtype, k.op, [&]<class T>() {
    Contiguous<T> values(moved_values.of(k.in(0)));
    for_channel_blocks(images, channels, to, [&](int64_t image, int64_t first, int64_t n) {
      for (int64_t i = 0; i < to; i++) {
        int64_t row = (image * to + i) * channels + first;
        for (int64_t c = 0; c < n; c++) {
          int64_t at = indices.data()[row + c];
          check_position(k, at, from);
          k.out().as<T>()[row + c] = values.data()[(image * from + at) * channels + first + c];
        }
      }
    });
  });
}

bool works_channels_last(const KernelContext& k) {
  return holds_channels_last(k.out()) && (is_channels_last(k.in(0)) || is_channels_last(k.in(1)));
}

void plane_scatter_kernel(KernelContext& k) {
  bool accumulate = k.attrs<PlaneScatterAttrs>().accumulate;
  if (works_channels_last(k)) return scatter_channels_last(k, accumulate);
  Contiguous<int64_t> indices(k.in(1));
  int64_t planes = k.out().size(0) * k.out().size(1), from = plane_size(k.in(0)), to = plane_size(k.out());
  dispatch_real(k.out().dtype, k.op, [&]<class T>() {
    Contiguous<T> values(k.in(0));
    parallel_for(0, planes, plane_grain(to), [&](int64_t first, int64_t last) {
      for (int64_t plane = first; plane < last; plane++) {
        T* y = k.out().as<T>() + plane * to;
        std::fill_n(y, to, T(0));
        for (int64_t i = plane * from; i < (plane + 1) * from; i++) {
          int64_t at = indices.data()[i];
          check_position(k, at, to);
          y[at] = accumulate
                      ? T(static_cast<compute_t<T>>(y[at]) + static_cast<compute_t<T>>(values.data()[i]))
                      : values.data()[i];
        }
      }
    });
  });
}

void plane_gather_kernel(KernelContext& k) {
  if (works_channels_last(k)) return gather_channels_last(k);
  Contiguous<int64_t> indices(k.in(1));
  int64_t planes = k.out().size(0) * k.out().size(1), from = plane_size(k.in(0)), to = plane_size(k.out());
  dispatch_real(k.out().dtype, k.op, [&]<class T>() {
    Contiguous<T> values(k.in(0));
    parallel_for(0, planes, plane_grain(to), [&](int64_t first, int64_t last) {
      for (int64_t plane = first; plane < last; plane++)
        for (int64_t i = plane * to; i < (plane + 1) * to; i++) {
          int64_t at = indices.data()[i];
          check_position(k, at, from);
          k.out().as<T>()[i] = values.data()[plane * from + at];
        }
    });
  });
}

}  // namespace

void kernels_max_pool(KernelTable& table) {
  table.add("max_pool", max_pool_kernel);
  table.add("adaptive_max_pool", adaptive_max_pool_kernel);
  table.add("plane_scatter", plane_scatter_kernel);
  table.add("plane_gather", plane_gather_kernel);
}

}  // namespace tw::ops
