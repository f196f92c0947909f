// Floor: the input's bytes over the bandwidth.
#include "device/cpu/reduce.h"
#include "ops/reduction/mean.h"

namespace tw::ops {

using namespace device;

namespace {

void mean_kernel(KernelContext& k) {
  const auto& a = k.attrs<MeanAttrs>();
  Dims dims = a.dim ? wrap_dims(*a.dim, k.in(0).rank(), k.op) : Dims();
  uint64_t mask = reduce_mask(dims, k.in(0).rank());
  int64_t count = a.count ? *a.count : k.out().count() > 0 ? k.in(0).count() / k.out().count() : 0;
  dispatch_float_complex(k.out().dtype, k.op, [&]<class T>() {
    using Acc = sum_t<T>;
    reduce_loop<T, Acc, T>(
        k.in(0), k.out(), mask, Acc(0), [](Acc a, Acc b) { return a + b; },
        [count](Acc total) {
          if constexpr (is_complex_type<Acc>)
            return total / typename Acc::value_type(count);
          else
            return total / Acc(count);
        });
  });
}

}  // namespace

void kernels_mean(KernelTable& table) { table.add("mean", mean_kernel); }

}  // namespace tw::ops
