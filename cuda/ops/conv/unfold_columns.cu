// unfold_columns: a thread an element of a column. fold_columns: a thread an element of an image, which adds
// up its taps in order, without atomics. Floor: the bytes of input and output over the bandwidth; elements
// that several windows have are read again from the cache.
//
// Per element: 4.4 bytes and 20 operations (unfold of 3 x 3, float32).
#include "ops/conv/unfold_columns.h"

#include "cuda/common/complex.h"
#include "cuda/common/element.h"
#include "cuda/common/launch.h"
#include "cuda/common/planes.h"

namespace tw::cuda {

using device::KernelContext;
using device::Operand;

namespace {

constexpr int kThreads = block_threads(256);

struct WindowDim {
  int out, kernel, stride, padding, dilation;
};

// Columns [N, C · K, P], with strides in elements, of images.
struct Columns {
  Planes images;
  WindowDim down, right;
  Divisor by_right_outputs, by_outputs, by_right_taps, by_taps, by_channels;
  int64_t strides[3];
  int64_t count;  // of all columns' elements
};

Columns make_columns(const Operand& columns, const Operand& images, const ops::ConvGeometry& g,
                     const char* op) {
  auto dim = [&](int i) {
    return WindowDim{static_cast<int>(g.out[i]), static_cast<int>(g.kernel[i]), static_cast<int>(g.stride[i]),
                     static_cast<int>(g.padding[i]), static_cast<int>(g.dilation[i])};
  };
  auto by = [](int64_t n) { return Divisor(static_cast<uint32_t>(n)); };
  TW_CHECK(columns.count() < kMostSteps, kNotImplemented, op, ": columns of shape ", *columns.sizes,
           " are not supported on CUDA");
  return {make_planes(images, op),
          dim(1),
          dim(2),
          by(g.out[2]),
          by(g.out_positions()),
          by(g.kernel[2]),
          by(g.taps()),
          by(g.in_channels),
          {columns.stride(0), columns.stride(1), columns.stride(2)},
          columns.count()};
}

// What n counts innermost, of `by`; the rest is left in it.
TW_DEVICE int split(uint32_t& n, const Divisor& by) {
  uint32_t next = by.quotient(n);
  auto index = static_cast<int>(n - next * by.divisor);
  n = next;
  return index;
}

template <class T>
__global__ void __launch_bounds__(kThreads) unfold_kernel(Columns s, const T* images, T* columns) {
  int64_t element = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (element >= s.count) return;
  auto rest = static_cast<uint32_t>(element);
  auto position = static_cast<uint32_t>(split(rest, s.by_outputs));
  auto tap = static_cast<uint32_t>(split(rest, s.by_taps));
  int channel = split(rest, s.by_channels), image = static_cast<int>(rest);
  int right = split(position, s.by_right_outputs), right_tap = split(tap, s.by_right_taps);
  int i = ops::input_position(static_cast<int>(position), static_cast<int>(tap), s.down.stride,
                              s.down.padding, s.down.dilation);
  int j = ops::input_position(right, right_tap, s.right.stride, s.right.padding, s.right.dilation);
  T value{};
  if (i >= 0 && i < s.images.sizes[1] && j >= 0 && j < s.images.sizes[2])
    value = images[s.images.offset({image, channel, {0, i, j}})];
  columns[element] = value;
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    fold_kernel(Columns s, const stored_t<T>* columns, stored_t<T>* images) {
  using C = compute_t<T>;
  int64_t element = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (element >= s.images.count) return;
  Place p = s.images.place(element);
  const stored_t<T>* from = columns + p.image * s.strides[0];
  int64_t row = int64_t{p.channel} * s.by_taps.divisor;
  C sum{};
  for (int a = 0; a < s.down.kernel; a++) {
    int i = ops::output_position(p.at[1], a, s.down.stride, s.down.padding, s.down.dilation, s.down.out);
    if (i < 0) continue;
    for (int b = 0; b < s.right.kernel; b++) {
      int j =
          ops::output_position(p.at[2], b, s.right.stride, s.right.padding, s.right.dilation, s.right.out);
      if (j < 0) continue;
      int64_t tap = row + a * s.right.kernel + b, position = int64_t{i} * s.right.out + j;
      sum = static_cast<C>(sum + load<T>(from[tap * s.strides[1] + position * s.strides[2]]));
    }
  }
  images[s.images.offset(p)] = store<T>(sum);
}

Grid grid_for(int64_t tasks) { return {static_cast<unsigned>((tasks + kThreads - 1) / kThreads), kThreads}; }

void unfold_columns_kernel(KernelContext& k) {
  if (k.out().count() == 0) return;
  auto g = ops::window_geometry(k.attrs<ops::ColumnsAttrs>(), *k.in(0).sizes);
  Columns s = make_columns(k.out(), k.in(0), g, k.op);
  dispatch_bytes(k.out().dtype, [&]<class T>() {
    launch(k.op, unfold_kernel<T>, grid_for(s.count), s, k.in(0).as<const T>(), k.out().as<T>());
  });
}

void fold_columns_kernel(KernelContext& k) {
  if (k.out().count() == 0) return;
  auto g = ops::window_geometry(k.attrs<ops::FoldColumnsAttrs>(), *k.out().sizes);
  Columns s = make_columns(k.in(0), k.out(), g, k.op);
  dispatch_numbers(k.out().dtype, k.op, [&]<class T>() {
    launch(k.op, fold_kernel<T>, grid_for(s.images.count), s, k.in(0).as<const stored_t<T>>(),
           k.out().as<stored_t<T>>());
  });
}

}  // namespace

void kernels_unfold_columns(device::KernelTable& table) {
  table.add("unfold_columns", unfold_columns_kernel);
  table.add("fold_columns", fold_columns_kernel);
}

}  // namespace tw::cuda
