// max_pool and adaptive_max_pool: a thread reads the window of an output; elements that several windows have
// come from the cache. plane_gather reads where indices say; plane_scatter zeroes its planes and puts or adds
// there: with atomic sums, in float for the half types, so that the order of sums is not fixed where more
// than two windows share a maximum. Floor: the bytes of operands over the bandwidth. Indices outside of a
// plane are an error, which the next to wait for the device is told.
//
// Per element: 28 bytes and 40 operations (windows of 2 x 2, float32).
#include <limits>

#include "cuda/common/atomic.h"
#include "cuda/common/copy.h"
#include "cuda/common/element.h"
#include "cuda/common/mistakes.h"
#include "cuda/device/scratch.h"
#include "cuda/ops/pooling/windows.h"

namespace tw::cuda {

using device::KernelContext;
using device::Operand;

namespace {

template <class T>
__global__ void __launch_bounds__(kPoolThreads)
    max_kernel(Planes in, Planes out, Planes indices, PoolWindows w, compute_t<T> least, const stored_t<T>* x,
               stored_t<T>* y, int64_t* at) {
  using C = compute_t<T>;
  int64_t element = element_of_thread();
  if (element >= out.count) return;
  Place p = out.place(element);
  PoolWindows::Window windows[3];
  TW_UNROLL
  for (int d = 0; d < 3; d++) windows[d] = w.window(d, p.at[d]);
  const stored_t<T>* plane = x + in.plane(p);
  C largest = least;
  int64_t best = -1;
  each_position(windows, [&](int a, int b, int c) {
    C value = load<T>(plane[in.within(a, b, c)]);
    if (best < 0 || value > largest || (value != value && largest == largest)) {
      largest = value;
      best = (int64_t{a} * in.sizes[1] + b) * in.sizes[2] + c;
    }
  });
  y[out.offset(p)] = store<T>(largest);
  at[indices.offset(p)] = best < 0 ? 0 : best;  // nothing of it lies inside: ceil_mode over padding
}

void maximum(KernelContext& k, const Planes& in, const Planes& out, const PoolWindows& w) {
  dispatch_real(k.out(0).dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    using Limits = std::numeric_limits<C>;
    launch(k.op, max_kernel<T>, pool_grid(out), in, out, make_planes(k.out(1), k.op), w,
           Limits::has_infinity ? -Limits::infinity() : Limits::lowest(), k.in(0).as<const stored_t<T>>(),
           k.out(0).as<stored_t<T>>(), k.out(1).as<int64_t>());
  });
}

void max_pool_kernel(KernelContext& k) {
  const auto& a = k.attrs<ops::MaxPoolAttrs>();
  Planes in = make_planes(k.in(0), k.op), out = make_planes(k.out(0), k.op);
  maximum(k, in, out, sliding_windows(in, out, a.kernel_size, a.stride, a.padding, &a.dilation, false));
}

void adaptive_max_pool_kernel(KernelContext& k) {
  Planes in = make_planes(k.in(0), k.op), out = make_planes(k.out(0), k.op);
  maximum(k, in, out, adaptive_windows(in, out));
}

void no_position(const char* op, int64_t position, int64_t positions) {
  TW_FAIL(kIndex, op, ": indices from 0 to ", positions - 1, " are wanted, got ", position);
}

// Values and their positions in the planes `whole`.
struct Positions {
  Planes values, indices, whole;
  int64_t positions;  // of a plane of `whole`
  const int64_t* index;
  MistakeNote wrong;

  // The place in `whole`, -1 where it has none.
  TW_DEVICE int64_t of(const Place& p) const {
    int64_t position = index[indices.offset(p)];
    if (position >= 0 && position < positions) return whole.plane(p) + whole.within(position);
    wrong(position, positions);
    return -1;
  }
};

template <class T>
__global__ void __launch_bounds__(kPoolThreads)
    gather_kernel(Positions s, const stored_t<T>* from, stored_t<T>* to) {
  int64_t element = element_of_thread();
  if (element >= s.values.count) return;
  Place p = s.values.place(element);
  int64_t at = s.of(p);
  if (at >= 0) to[s.values.offset(p)] = from[at];
}

template <class T>
__global__ void __launch_bounds__(kPoolThreads)
    put_kernel(Positions s, const stored_t<T>* from, stored_t<T>* to) {
  int64_t element = element_of_thread();
  if (element >= s.values.count) return;
  Place p = s.values.place(element);
  int64_t at = s.of(p);
  if (at >= 0) to[at] = from[s.values.offset(p)];
}

template <class T>
__global__ void __launch_bounds__(kPoolThreads)
    add_kernel(Positions s, const stored_t<T>* from, compute_t<T>* to) {
  int64_t element = element_of_thread();
  if (element >= s.values.count) return;
  Place p = s.values.place(element);
  int64_t at = s.of(p);
  if (at >= 0) atomic_add(&to[at], load<T>(from[s.values.offset(p)]));
}

Positions make_positions(const Operand& values, const Operand& indices, const Operand& whole,
                         const char* op) {
  Positions s{make_planes(values, op),     make_planes(indices, op),     make_planes(whole, op), 0,
              indices.as<const int64_t>(), mistake_note(op, no_position)};
  s.positions = s.whole.positions();
  return s;
}

void clear(void* data, size_t size_bytes, const char* op) {
  if (size_bytes) check(cudaMemsetAsync(data, 0, size_bytes, current_stream()), op);
}

// Results lie without gaps, in whichever order.
template <class T>
void add_up(KernelContext& k, const Positions& s) {
  using C = compute_t<T>;
  constexpr bool kDirect = std::is_same_v<C, T>;
  auto count = static_cast<size_t>(k.out().count());
  DeviceScratch wide(kDirect ? 0 : count * sizeof(C));
  C* sums = kDirect ? k.out().as<C>() : wide.as<C>();
  clear(sums, count * sizeof(C), k.op);
  launch(k.op, add_kernel<T>, pool_grid(s.values), s, k.in(0).as<const stored_t<T>>(), sums);
  if constexpr (!kDirect) copy_cast(k.out(), {sums, k.out().sizes, k.out().strides, dtype_of<C>}, k.op);
}

void plane_scatter_kernel(KernelContext& k) {
  Positions s = make_positions(k.in(0), k.in(1), k.out(), k.op);
  if (k.attrs<ops::PlaneScatterAttrs>().accumulate) {
    dispatch_float(k.out().dtype, k.op, [&]<class T>() { add_up<T>(k, s); });
  } else {
    dispatch_real(k.out().dtype, k.op, [&]<class T>() {
      clear(k.out().data, static_cast<size_t>(k.out().count()) * sizeof(T), k.op);
      launch(k.op, put_kernel<T>, pool_grid(s.values), s, k.in(0).as<const stored_t<T>>(),
             k.out().as<stored_t<T>>());
    });
  }
}

void plane_gather_kernel(KernelContext& k) {
  Positions s = make_positions(k.out(), k.in(1), k.in(0), k.op);
  dispatch_real(k.out().dtype, k.op, [&]<class T>() {
    launch(k.op, gather_kernel<T>, pool_grid(s.values), s, k.in(0).as<const stored_t<T>>(),
           k.out().as<stored_t<T>>());
  });
}

}  // namespace

void kernels_max_pool(device::KernelTable& table) {
  table.add("max_pool", max_pool_kernel);
  table.add("adaptive_max_pool", adaptive_max_pool_kernel);
  table.add("plane_scatter", plane_scatter_kernel);
  table.add("plane_gather", plane_gather_kernel);
}

}  // namespace tw::cuda
