// Adds each gradient element at its memory location; on one thread, as locations may repeat.
#include "device/kernel.h"
#include "ops/view/as_strided.h"

#include <cstring>

namespace tw::ops {

using namespace device;

namespace {

template <class T>
void scatter(const Operand& grad, const AsStridedScatterAttrs& a, T* out, int64_t out_count) {
  int64_t rank = static_cast<int64_t>(a.size.size());
  Dims index(rank, 0);
  int64_t count = numel(a.size), to = a.offset, from = 0;
  const T* source = grad.as<T>();
  for (int64_t i = 0; i < count; i++) {
    TW_CHECK(to < out_count, kValue, "as_strided: the window leaves the tensor it was taken of, which has ",
             out_count, " elements");
    out[to] = T(static_cast<compute_t<T>>(out[to]) + static_cast<compute_t<T>>(source[from]));
    for (int64_t dim = rank - 1; dim >= 0; dim--) {
      to += a.stride[dim];
      from += grad.stride(dim);
      if (++index[dim] < a.size[dim]) break;
      to -= a.stride[dim] * a.size[dim];
      from -= grad.stride(dim) * a.size[dim];
      index[dim] = 0;
    }
  }
}

void as_strided_scatter_kernel(KernelContext& k) {
  const auto& a = k.attrs<AsStridedScatterAttrs>();
  int64_t count = k.out().count();
  std::memset(k.out().data, 0, count * size_of(k.out().dtype));
  dispatch_number(k.out().dtype, k.op, [&]<class T>() { scatter<T>(k.in(0), a, k.out().as<T>(), count); });
}

}  // namespace

void kernels_as_strided(KernelTable& table) { table.add("as_strided_scatter", as_strided_scatter_kernel); }

}  // namespace tw::ops
