// as_strided_scatter: zeros into which a gradient is added through a window. Windows that do not overlap are
// copied; elsewhere the elements of the window are sorted by their place in memory and summed in order
// (common/fold_places.h). Floor: the result and the gradient over the bandwidth; where windows overlap, the
// sort's passes more.
//
// Per element: 12 bytes and 5 operations (windows that do not overlap, float32).
#include "ops/view/as_strided.h"

#include <bit>

#include "cuda/common/copy.h"
#include "cuda/common/fold_places.h"
#include "cuda/common/strided_dims.h"

namespace tw::cuda {

using device::KernelContext;
using device::Operand;

namespace {

constexpr int kThreads = block_threads(256);

__global__ void __launch_bounds__(kThreads) locate_kernel(StridedDims window, uint32_t* keys) {
  int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i < window.count) keys[i] = static_cast<uint32_t>(window.offset(i));
}

// Elements of a dense gradient, and of the memory from the window's first element on.
struct WindowMap {
  char* memory;
  const char* grad;
  int64_t size;  // of an element
  StridedDims grad_dims;
  TW_DEVICE char* to(int64_t, uint32_t key, uint32_t, int64_t) const { return memory + key * size; }
  TW_DEVICE const char* from(int64_t, uint32_t place, int64_t) const {
    return grad + grad_dims.offset(place);
  }
};

StridedDims walk_of(const Dims& sizes, Dims strides, int64_t size, const char* op) {
  for (int64_t& stride : strides) stride *= size;
  return strided_dims({sizes.data(), sizes.size()}, {strides.data(), strides.size()}, op);
}

void as_strided_scatter_kernel(KernelContext& k) {
  const auto& a = k.attrs<ops::AsStridedScatterAttrs>();
  const Operand &grad = k.in(0), &out = k.out();
  int64_t size = size_of(out.dtype), count = grad.count(), last = a.offset;
  if (out.count())
    check(cudaMemsetAsync(out.data, 0, static_cast<size_t>(out.count() * size), current_stream()), k.op);
  if (count == 0) return;
  for (size_t d = 0; d < a.size.size(); d++) last += (a.size[d] - 1) * a.stride[d];
  TW_CHECK(last < out.count(), kValue, "as_strided: the window leaves the tensor it was taken of, which has ",
           out.count(), " elements");
  char* first = out.as<char>() + a.offset * size;
  if (!may_overlap(a.size, a.stride)) return copy_cast({first, &a.size, &a.stride, out.dtype}, grad, k.op);
  SortedRows<uint32_t> sorted(1, count, k.op);
  TW_CHECK(last - a.offset < kMostSteps, kNotImplemented, k.op, ": a window that reaches over ",
           last - a.offset, " elements is not supported on CUDA");
  launch(k.op, locate_kernel, {static_cast<unsigned>((count + kThreads - 1) / kThreads), kThreads},
         walk_of(a.size, a.stride, 1, k.op), sorted.keys());
  sorted.sort(std::bit_width(static_cast<uint64_t>(last - a.offset)));
  WindowMap map{first, grad.as<const char>(), size, walk_of(*grad.sizes, *grad.strides, size, k.op)};
  fold_places(k.op, place_lists(sorted, ~uint32_t{0}), map, Folding{Fold::kSum, false, out.dtype, out.dtype});
}

}  // namespace

void kernels_as_strided(device::KernelTable& table) {
  table.add("as_strided_scatter", as_strided_scatter_kernel);
}

}  // namespace tw::cuda
