// select_scatter_sum. Floor: the bytes of the parts, read and written once.
//
// Per element: 8 bytes and 1 operation (select_scatter_sum, float32).
#include "ops/fused/select_scatter_sum.h"

#include "cuda/common/complex.h"
#include "cuda/common/pointwise.h"

namespace tw::cuda {

using device::KernelContext;
using device::Operand;

namespace {

// -0 + 0 is 0.
struct PlusZero {
  template <class C>
  TW_DEVICE C operator()(C x) const {
    return x + C{};
  }
};

void sum_kernel(KernelContext& k) {
  const Operand& out = k.out();
  int64_t dim = wrap_dim(k.attrs<ops::SelectScatterSumAttrs>().dim, out.rank(), k.op);
  Dims sizes, strides;
  for (int64_t d = 0; d < out.rank(); d++)
    if (d != dim) sizes.push_back(out.size(d)), strides.push_back(out.stride(d));
  for (int64_t i = 0; i < out.size(dim); i++) {
    Operand part{out.as<char>() + i * out.stride(dim) * size_of(out.dtype), &sizes, &strides, out.dtype};
    const Operand* from = &k.in(static_cast<int>(i));
    auto add = [&]<class T>() { pointwise_over(Types<T>{}, Types<T>{}, {&part}, {from}, k.op, PlusZero()); };
    if (is_complex(out.dtype))
      dispatch_device_complex(out.dtype, add);
    else
      dispatch_float(out.dtype, k.op, add);
  }
}

}  // namespace

void kernels_select_scatter_sum(device::KernelTable& table) { table.add("select_scatter_sum", sum_kernel); }

}  // namespace tw::cuda
