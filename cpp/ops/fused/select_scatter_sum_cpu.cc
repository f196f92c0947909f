// Floor: the bytes of the parts, read and written once.
#include "device/cpu/loops.h"
#include "ops/fused/select_scatter_sum.h"

namespace tw::ops {

using namespace device;

namespace {

void sum_kernel(KernelContext& k) {
  const Operand& out = k.out();
  int64_t dim = wrap_dim(k.attrs<SelectScatterSumAttrs>().dim, out.rank(), k.op);
  Dims sizes, strides;
  for (int64_t d = 0; d < out.rank(); d++)
    if (d != dim) sizes.push_back(out.size(d)), strides.push_back(out.stride(d));
  for (int64_t i = 0; i < out.size(dim); i++) {
    char* start = out.as<char>() + i * out.stride(dim) * size_of(out.dtype);
    Operand part{start, &sizes, &strides, out.dtype};
    dispatch_float_complex(out.dtype, k.op, [&]<class T>() {
      unary_loop<T, T>(part, k.in(static_cast<int>(i)), [](compute_t<T> x) { return x + compute_t<T>(0); });
    });
  }
}

}  // namespace

void kernels_select_scatter_sum(KernelTable& table) { table.add("select_scatter_sum", sum_kernel); }

}  // namespace tw::ops
