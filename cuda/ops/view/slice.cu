// slice_scatter_zeros, select_scatter_zeros: zeros with the gradient copied into a window of them. Bytes: the
// result once, the gradient once more. Floor: these over the bandwidth.
//
// Per element: 12 bytes and 0 operations (slice_scatter_zeros, float32).
#include "ops/view/slice.h"

#include <algorithm>

#include "cuda/common/copy.h"
#include "cuda/common/launch.h"

namespace tw::cuda {

using device::KernelContext;
using device::Operand;

namespace {

void copy_into_window(KernelContext& k, const Dims& sizes, const Dims& strides, int64_t offset) {
  const Operand& out = k.out();
  if (out.count() == 0) return;
  check(cudaMemsetAsync(out.data, 0, static_cast<size_t>(out.count() * size_of(out.dtype)), current_stream()),
        k.op);
  copy_cast({out.as<char>() + offset * size_of(out.dtype), &sizes, &strides, out.dtype}, k.in(0), k.op);
}

void slice_scatter_kernel(KernelContext& k) {
  const auto& a = k.attrs<ops::SliceScatterAttrs>();
  int64_t dim = wrap_dim(a.dim, k.out().rank(), k.op), size = k.out().size(dim);
  Dims strides = *k.out().strides;
  int64_t start = std::clamp<int64_t>(a.start < 0 ? a.start + size : a.start, 0, size) * strides[dim];
  (void)__builtin_mul_overflow(strides[dim], a.step, &strides[dim]);
  copy_into_window(k, *k.in(0).sizes, strides, start);
}

void select_scatter_kernel(KernelContext& k) {
  const auto& a = k.attrs<ops::SelectScatterAttrs>();
  int64_t dim = wrap_dim(a.dim, k.out().rank(), k.op), size = k.out().size(dim);
  Dims strides = *k.out().strides;
  int64_t offset = (a.index < 0 ? a.index + size : a.index) * strides[dim];
  strides.erase(strides.begin() + dim);
  copy_into_window(k, *k.in(0).sizes, strides, offset);
}

}  // namespace

void kernels_slice(device::KernelTable& table) {
  table.add("slice_scatter_zeros", slice_scatter_kernel);
  table.add("select_scatter_zeros", select_scatter_kernel);
}

}  // namespace tw::cuda
