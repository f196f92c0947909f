// Planes are shared among threads; one pass. Floor: the bytes of input and outputs over the bandwidth.
#include <algorithm>
#include <cmath>

#include "device/cpu/contiguous.h"
#include "device/cpu/parallel.h"
#include "ops/pooling/pooling.h"
#include "ops/pooling/windows_cpu.h"

namespace tw::ops {

using namespace device;

namespace {

int64_t plane_grain(int64_t elements) {
  return std::max<int64_t>(1, (1 << 15) / std::max<int64_t>(1, elements));
}

template <class T>
void max_planes(KernelContext& k, const Windows& w) {
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
          y[o] = std::is_integral_v<T> ? std::numeric_limits<T>::lowest()
                                       : T(-std::numeric_limits<float>::infinity());
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

void plane_scatter_kernel(KernelContext& k) {
  bool accumulate = k.attrs<PlaneScatterAttrs>().accumulate;
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
