// Zeros with the gradient copied into a window of them.
#include <algorithm>
#include <cstring>

#include "device/cpu/cast.h"
#include "ops/view/slice.h"

namespace tw::ops {

using namespace device;

namespace {

void copy_into_window(KernelContext& k, const Dims& sizes, const Dims& strides, int64_t offset) {
  const Operand& out = k.out();
  std::memset(out.data, 0, out.count() * size_of(out.dtype));
  Operand window{static_cast<char*>(out.data) + offset * size_of(out.dtype), &sizes, &strides, out.dtype};
  copy_cast(window, k.in(0));
}

void slice_scatter_kernel(KernelContext& k) {
  const auto& a = k.attrs<SliceScatterAttrs>();
  int64_t dim = wrap_dim(a.dim, k.out().rank(), k.op), size = k.out().size(dim);
  Dims strides = *k.out().strides;
  int64_t start = std::clamp<int64_t>(a.start < 0 ? a.start + size : a.start, 0, size) * strides[dim];
  (void)__builtin_mul_overflow(strides[dim], a.step, &strides[dim]);
  copy_into_window(k, *k.in(0).sizes, strides, start);
}

void select_scatter_kernel(KernelContext& k) {
  const auto& a = k.attrs<SelectScatterAttrs>();
  int64_t dim = wrap_dim(a.dim, k.out().rank(), k.op), size = k.out().size(dim);
  Dims strides = *k.out().strides;
  int64_t offset = (a.index < 0 ? a.index + size : a.index) * strides[dim];
  strides.erase(strides.begin() + dim);
  copy_into_window(k, *k.in(0).sizes, strides, offset);
}

}  // namespace

void kernels_slice(KernelTable& table) {
  table.add("slice_scatter_zeros", slice_scatter_kernel);
  table.add("select_scatter_zeros", select_scatter_kernel);
}

}  // namespace tw::ops
